"""The form of `input`, and items that ask for something: a new configuration, a compaction."""

from collections.abc import Iterator
from itertools import pairwise

from harness.api.models import Model
from harness.contract.phrasing import invalid_value, quote_and_join
from harness.contract.rule import RuleScope, after, assumed, documented, reported, rule
from harness.contract.rules.example_requests import ASK, HI
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE, PROBED
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.items.kind import item_types

ITEM_TYPES = quote_and_join(sorted(item_types()), "and")


@rule(
    invalid_value(),
    PROBED,
    reported("public reports of 2025 with a shorter list", "2025"),
    rejects={
        ("bogus_item", ITEM_TYPES): [{"type": "bogus_item"}],
        ("", ITEM_TYPES): [{"type": 7, "role": "user", "content": "x"}],
    },
    fix="Send items as the API returned them; a message needs no `type`.",
)
def input_item_type() -> None:
    """An item's `type` must be a known one; an item without it is judged as a message by its `role`.

    `param` is the item, not its `type`. A type that is no string is printed empty.
    """


@rule(
    invalid_value(),
    PROBED,
    reported("public report of another origin", "2026"),
    rejects={
        ("tool", "'assistant', 'system', 'developer', and 'user'"): [{"role": "tool", "content": "x"}],
        ("", "'assistant', 'system', 'developer', and 'user'"): [{}],
    },
    accepts=[
        {"input": [{"role": role, "content": "x"} for role in ("developer", "system", "assistant", "user")]},
        after(ASK, [{"id": "{0.output.0.id}"}, {"role": "user", "content": "again"}]),
    ],
    fix="Tool results are `function_call_output` items, not messages with the role `tool`.",
)
def input_item_role() -> None:
    """A message's `role` must be a known one; a missing role is printed empty, and `param` is the item."""


@rule(
    bad_request(
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        code="missing_required_parameter",
    ),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("public probe, project smg: an empty text gets a 400; that its words are these is assumed", "2026-10-09"),
    rejects=[{"input": ""}],
    accepts=[
        after(ASK, {"input": [], "previous_response_id": "{0.id}"}),
        after(ASK, {"input": "", "previous_response_id": "{0.id}"}),
    ],
    fix="Send at least one item, or continue something.",
    reads=("input", "previous_response_id", "conversation", "prompt"),
)
def input_empty(request: Request) -> bool:
    """There must be something to answer: an empty `input`, whether list or string, must continue something.

    Checked after the schema and after the look-ups of stored state.
    """
    body = request.body
    return body.get("input") in ([], "") and not any(
        body.get(name) for name in ("previous_response_id", "prompt", "conversation")
    )


SCOPE = RuleScope(area="configuration_updates", when="input[]", mentions="configuration_update")

_UPDATE: Json = {"type": "configuration_update", "reasoning": {"effort": "low"}}
_UPDATED: Json = {"model": "gpt-6-astra", "input": [_UPDATE, HI]}
_COMPACTION: Json = {"type": "compaction", "encrypted_content": "gAAAAA"}


def _update_error(when: str) -> ApiError:
    message = f"The 'configuration_update' item type is not supported with {when}."
    return bad_request(message, "input[{index}].type", "unsupported_value")


def _updates(request: Request) -> Iterator[int]:
    items = enumerate(request.body["input"])
    yield from (index for index, item in items if item.get("type") == "configuration_update")


@rule(
    _update_error("this model"),
    reported("https://github.com/openai/codex/issues/44751: the whole error", "2026-09"),
    reported("public measurements: models before gpt-5.6 refuse it", "2026-10-01"),
    reads="input",
    rejects=[{**_UPDATED, "model": "gpt-5.5"}],
    accepts=[_UPDATED, {**_UPDATED, "model": "gpt-5.6-sol"}, {**_UPDATED, "model": "my-deployment"}],
    fix="Set the effort and the format in the request itself, or use a newer model.",
)
def configuration_update_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before GPT-5.6 take no `configuration_update`."""
    if family and not family.configuration_updates:
        yield from ({"index": index} for index in _updates(request))


@rule(
    _update_error("pro or tournament models"),
    documented("https://openrouter.ai/docs/cookbook: gpt-6-astra with `reasoning.mode: pro`", "2026-09"),
    assumed("the param and the code, those of a model that takes no updates"),
    reads=("input", "reasoning"),
    rejects=[{**_UPDATED, "reasoning": {"mode": "pro"}}],
    accepts=[{**_UPDATED, "reasoning": {"mode": "standard"}}],
    fix="Leave out `reasoning.mode: pro`, or set the effort and the format in the request itself.",
)
def configuration_update_in_pro_mode(request: Request) -> Iterator[Json]:
    """Only the standard mode takes a `configuration_update`."""
    if (request.body.get("reasoning") or {}).get("mode") == "pro":
        yield from ({"index": index} for index in _updates(request))


@rule(
    _update_error("compaction without a subsequent configuration update"),
    reported("public measurements of two origins, with param", "2026-09-19"),
    rejects=[{"model": "gpt-6-astra", "input": [_UPDATE, _COMPACTION, HI]}],
    accepts=[
        {"model": "gpt-6-astra", "input": [_COMPACTION, _UPDATE, HI]},
        {"model": "gpt-6-astra", "input": [_UPDATE, _COMPACTION, _UPDATE, HI]},
    ],
    fix="Send an update with the current settings after the compaction.",
)
def configuration_update_compacted(request: Request) -> Iterator[Json]:
    """A compaction ends the updates before it, so another one must follow it."""
    kinds = [item.get("type") for item in request.body["input"]]
    updates = [*_updates(request)]
    if "compaction" in kinds and updates and updates[-1] < len(kinds) - 1 - kinds[::-1].index("compaction"):
        yield {"index": updates[0]}


@rule(
    bad_request("Consecutive configuration_update items are not allowed", "input", "unsupported_value"),
    reported("public report of a refusal, with its code and words", "2026-10"),
    reported("@ai-sdk/openai 3.0.141: the condition", "2026-11"),
    assumed("that `param` is `input`"),
    rejects=[{"model": "gpt-6-astra", "input": [_UPDATE, _UPDATE, HI]}],
    accepts=[{"model": "gpt-6-astra", "input": [_UPDATE, HI, _UPDATE, {"role": "user", "content": "again"}]}],
    fix="Merge them into one item.",
)
def configuration_updates_adjacent(request: Request) -> bool:
    """A `configuration_update` must not follow another one."""
    return any(
        item.get("type") == next_item.get("type") == "configuration_update"
        for item, next_item in pairwise(request.body["input"])
    )


SCOPE = RuleScope(area="compaction_triggers", when="input[]", mentions="compaction_trigger")

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
def compaction_trigger_twice(request: Request) -> bool:
    """A request may have one `compaction_trigger`; their number is checked before their place."""
    return len(_triggers(request)) > 1


@rule(
    bad_request("The 'compaction_trigger' item must be the final input item.", "input"),
    _LIVE_TESTS,
    _CODE,
    reads="input",
    rejects=[[_TRIGGER, HI]],
    fix="Send the `compaction_trigger` as the last item, and what follows it in the next request.",
)
def compaction_trigger_before_the_end(request: Request) -> bool:
    """Nothing may follow a `compaction_trigger`; its place is checked before the length of the output."""
    return any(index < len(request.body["input"]) - 1 for index in _triggers(request))


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
def compaction_trigger_without_room(request: Request) -> bool:
    """The compaction that a `compaction_trigger` asks for needs room in `max_output_tokens`."""
    limit = request.body.get("max_output_tokens")
    return bool(limit is not None and limit < _LEAST_OUTPUT and _triggers(request))
