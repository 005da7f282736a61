"""The form of `input` and of its items; the schema finds these violations, in the order of the items."""

from collections.abc import Iterator

from harness.contract.phrasing import quote_and_join
from harness.contract.rule import after, reported, rule, shape
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE, PROBED
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.kind import item_types

ITEM_TYPES = quote_and_join(sorted(item_types()), "and")

shape(
    __name__,
    "input_item_type",
    """An item's `type` must be a known one; an item without it is judged as a message by its `role`.

    `param` is the item, not its `type`. A type that is no string is printed empty.
    """,
    bad_request("Invalid value: '{value}'. Supported values are: {values}.", "{path}", "invalid_value"),
    PROBED,
    reported("public reports of 2025 with a shorter list", "2025"),
    rejects={
        ("bogus_item", ITEM_TYPES): [{"type": "bogus_item"}],
        ("", ITEM_TYPES): [{"type": 7, "role": "user", "content": "x"}],
    },
    fix="Send items as the API returned them; a message needs no `type`.",
)

shape(
    __name__,
    "input_item_role",
    """A message's `role` must be a known one; a missing role is printed empty, and `param` is the item.""",
    bad_request("Invalid value: '{value}'. Supported values are: {values}.", "{path}", "invalid_value"),
    PROBED,
    reported("public report of another origin", "2026"),
    rejects={
        ("tool", "'assistant', 'system', 'developer', and 'user'"): [{"role": "tool", "content": "x"}],
        ("", "'assistant', 'system', 'developer', and 'user'"): [{}],
    },
    accepts=[
        {"input": [{"role": role, "content": "x"} for role in ("developer", "system", "assistant", "user")]},
        after({"input": "hi"}, [{"id": "{0.output.0.id}"}, {"role": "user", "content": "again"}]),
    ],
    fix="Tool results are `function_call_output` items, not messages with the role `tool`.",
)


@rule(
    bad_request(
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        code="missing_required_parameter",
    ),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("public probe, project smg: an empty text gets a 400; that its words are these is assumed", "2026-10-09"),
    rejects=[{"input": ""}],
    accepts=[
        after({"input": "hi"}, {"input": [], "previous_response_id": "{0.id}"}),
        after({"input": "hi"}, {"input": "", "previous_response_id": "{0.id}"}),
    ],
    fix="Send at least one item, or continue something.",
    reads=("input", "previous_response_id", "conversation", "prompt"),
)
def input_empty(request: Request) -> Iterator[Json]:
    """There must be something to answer: an empty `input`, whether list or string, must continue something.

    Checked after the schema and after the look-ups of stored state.
    """
    body = request.body
    if body.get("input") in ([], "") and not any(
        body.get(name) for name in ("previous_response_id", "prompt", "conversation")
    ):
        yield {}
