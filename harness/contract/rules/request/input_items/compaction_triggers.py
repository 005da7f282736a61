"""`compaction_trigger` items, which ask the API to compact what stands before them."""

from collections.abc import Iterator

from harness.contract.rule import RuleScope, assumed, reported, rule
from harness.contract.rules.example_requests import HI
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(when="input[]", mentions="compaction_trigger")

_TRIGGER: Json = {"type": "compaction_trigger"}
_LEAST_OUTPUT = 20_000
_LIVE_TESTS = reported("https://github.com/stdapi-ai/stdapi.ai: tests that also run against the API", "2026-09-23")
_CODE = assumed("the code")


def _triggers(request: Request) -> list[int]:
    """Return the places of the triggers in the input."""
    items = enumerate(request.body["input"])
    return [index for index, item in items if item.get("type") == "compaction_trigger"]


@rule(
    bad_request("Only one 'compaction_trigger' item may be provided.", "input"),
    _LIVE_TESTS,
    reported("the recorded refusal of another host of these models, in a public proxy", "2026-08"),
    _CODE,
    reads="input",
    rejects=[{"input": [_TRIGGER, HI, _TRIGGER], "max_output_tokens": 100}],
    accepts=[[HI, _TRIGGER]],
    fix="Send one `compaction_trigger`, as the last item.",
)
def compaction_trigger_twice(request: Request) -> Iterator[Json]:
    """A request may have one `compaction_trigger`; their number is checked before their place."""
    if len(_triggers(request)) > 1:
        yield {}


@rule(
    bad_request("The 'compaction_trigger' item must be the final input item.", "input"),
    _LIVE_TESTS,
    _CODE,
    reads="input",
    rejects=[[_TRIGGER, HI]],
    fix="Send the `compaction_trigger` as the last item, and what follows it in the next request.",
)
def compaction_trigger_before_the_end(request: Request) -> Iterator[Json]:
    """Nothing may follow a `compaction_trigger`; its place is checked before the length of the output."""
    if any(index < len(request.body["input"]) - 1 for index in _triggers(request)):
        yield {}


@rule(
    bad_request(
        f"'compaction_trigger' requires 'max_output_tokens' to be at least {_LEAST_OUTPUT} when specified.",
        "max_output_tokens",
    ),
    _LIVE_TESTS,
    _CODE,
    reads=("input", "max_output_tokens"),
    rejects=[{"input": [HI, _TRIGGER], "max_output_tokens": _LEAST_OUTPUT - 1}],
    accepts=[{"input": [HI, _TRIGGER], "max_output_tokens": _LEAST_OUTPUT}],
    fix=f"Leave `max_output_tokens` out, or set at least {_LEAST_OUTPUT}.",
)
def compaction_trigger_without_room(request: Request) -> Iterator[Json]:
    """The compaction that a `compaction_trigger` asks for needs room in `max_output_tokens`."""
    limit = request.body.get("max_output_tokens")
    if limit is not None and limit < _LEAST_OUTPUT and _triggers(request):
        yield {}
