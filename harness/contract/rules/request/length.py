"""Parameters for the length of an answer and its context: how they are written, how a context is managed."""

from collections.abc import Iterator
from typing import Any

from harness.contract.rule import assumed, reported, rule, shape
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

_LIVE_TESTS = "https://github.com/stdapi-ai/stdapi.ai, tests that run against the API, too"
_LIVE_TESTS_DATE = "2026-09"

shape(
    __name__,
    "context_management_type",
    """A context is managed by `compaction` alone; a missing kind is reported like other missing members.""",
    bad_request("Unsupported context_management type: '{value}'.", "context_management"),
    reported(_LIVE_TESTS, _LIVE_TESTS_DATE),
    reported("a public guide: probes of `compact` and `summarize`", "2026-07-19"),
    reported("https://github.com/falkcorp/overnight-burndown/pull/62: an empty kind", "2026-06"),
    rejects={"summarize": {"context_management": [{"type": "summarize"}]}, "": {"context_management": [{"type": ""}]}},
    accepts=[{"context_management": [{"type": "compaction", "compact_threshold": 1000}]}],
    fix='Send `{"type": "compaction"}`.',
)

_COUNTS = ("max_output_tokens", "max_tool_calls", "top_logprobs")


@rule(
    bad_request(
        "Invalid type for '{path}': expected an integer, but got a decimal number instead.", "{path}", "invalid_type"
    ),
    reported(f"{_LIVE_TESTS}: compact_threshold", _LIVE_TESTS_DATE),
    reported("public probe, project smg: max_tool_calls", "2026-09"),
    assumed("that the other counts are read alike"),
    when=(*_COUNTS, "context_management"),
    reads=(),
    rejects={
        "max_output_tokens": {"max_output_tokens": 100.0},
        "context_management[0].compact_threshold": {
            "context_management": [{"type": "compaction", "compact_threshold": 1000.0}]
        },
    },
    accepts=[{"max_output_tokens": 100, "temperature": 1.0, "top_p": 1}],
    fix="Write a whole number without a decimal point: `100`, not `100.0`.",
)
def decimal_count(request: Request) -> Iterator[Json]:
    """A count with a decimal point is no integer, whatever follows the point.

    JSON Schema accepts `100.0` as an integer, but the API does not.
    """
    for path, value in _counts(request.body):
        if isinstance(value, float):
            yield {"path": path}


def _counts(body: Json) -> Iterator[tuple[str, Any]]:
    for index, managed in enumerate(body.get("context_management") or ()):
        yield f"context_management[{index}].compact_threshold", managed.get("compact_threshold")
    yield from ((name, body.get(name)) for name in _COUNTS)
