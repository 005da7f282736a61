"""`configuration_update` items, which change the effort or the format from their place on."""

from collections.abc import Iterator
from itertools import pairwise

from harness.api.models import Model
from harness.contract.rule import RuleScope, assumed, documented, reported, rule
from harness.contract.rules.example_requests import HI
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(when="input[]", mentions="configuration_update")

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
def configuration_updates_adjacent(request: Request) -> Iterator[Json]:
    """A `configuration_update` must not follow another one."""
    for item, next_item in pairwise(request.body["input"]):
        if item.get("type") == next_item.get("type") == "configuration_update":
            yield {}
