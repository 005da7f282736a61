"""What two tellings of one response differ in, as far as the request and what was said determine it.

What the API chooses anew each time is compared by its kind; what the account, an unknown model or a template decides by
its being there. Members that came to the API later than a recording may be missing in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from harness.answers.parameters import PARAMETERS, parameters_decided_by
from harness.answers.reader import strip_volatile
from harness.api.dialects import AZURE_DIALECTS, OPENAI, agent_of
from harness.core.exchange import Json, Request
from harness.core.shorten import shorten_repr
from harness.items.transcript import conversation_id
from harness.verify.judging.unverifiable import has_unrecorded_history
from harness.world.world import World

_MEMBERS_BY_DAY = {
    "2025-06-24": ("output_text.logprobs", "response.output_text.done.logprobs"),
    "2025-09-12": ("response.content_filters",),
    "2025-09-18": ("response.billing",),
    "2025-10-01": ("mcp_call.status",),
    "2026-02-14": ("response.completed_at",),
    "2026-05-06": ("web_search.return_token_budget",),
    "2026-05-28": ("reasoning.context",),
    "2026-06-24": ("web_search.search_content_types", "web_search_preview.search_content_types"),
    "2026-06-25": ("response.tool_usage",),
    "2026-07-03": ("reasoning.mode",),
    "2026-07-13": ("function.output_schema", "object.$schema"),
}
MEMBER_SINCE: Mapping[str, str] = {
    **{name: day for day, names in _MEMBERS_BY_DAY.items() for name in names},
    **{f"response.{known.name}": known.since for known in PARAMETERS.values()},
}
"""The first day from which every recording has a member: of what has that `type`, or stands under that name.

Before, it may be missing; so it may at any time where Azure answers, who follows region by region.
"""
COMPARABLE_SINCE: Mapping[str, str] = {OPENAI: "2026-04-01", **dict.fromkeys(AZURE_DIALECTS, "2026-08-01")}
"""The day from which a dialect repeats requests as the mock does; of older recordings only the names are compared."""
ABSENT = "absent"
VOLATILE_MEMBERS = frozenset({"id", "created_at", "completed_at", "usage", "model", "tool_usage", "moderation"})
"""Members of a response that are others each time: their kinds are compared."""
BILLING_MEMBERS = frozenset({"billing", "content_filters"})
"""Members that no request has and that depend on the account."""
MAX_LENGTH = 301
"""Characters of a value in a difference."""
IGNORED_VALUE = "…"
"""Stands for a value that is not compared."""


class AnswerDifference(NamedTuple):
    """A place where the mock tells something else, and what each side has there."""

    at: str
    recorded: str
    mock: str


def ignored_members(request: Request, world: World, day: str) -> Collection[str] | None:
    """The members of a response whose values are not compared; None for all of them, where a recording is too old."""
    if day < COMPARABLE_SINCE[request.dialect]:
        return None
    body = request.body
    asked = {name for name, value in body.items() if isinstance(value, bool | int | float | str)} - {"service_tier"}
    names = BILLING_MEMBERS | parameters_decided_by("account")
    if body.get("prompt") or agent_of(request):
        names |= parameters_decided_by("template")
    elif world.models.find(str(body.get("model"))) is None:
        names |= parameters_decided_by("model")
    conversation = conversation_id(body)
    if has_unrecorded_history(body, world) or (conversation and conversation not in world.store.conversations):
        names |= {"tools"}
    return names - asked


def mask_ignored(response: Json, free: Collection[str] | None) -> Json:
    """A response with what is compared of it, and stand-ins for the rest."""
    if free is None:
        return dict.fromkeys(response, IGNORED_VALUE)
    ids = {item["id"]: f"item {index}" for index, item in enumerate(response.get("output") or ()) if item.get("id")}
    made = {name: _mask_member(name, value, free) for name, value in response.items()}
    said: Json = label_ids(made, {**ids, str(response.get("id")): "this response"})
    return said


def _mask_member(name: str, value: Any, free: Collection[str]) -> Any:
    if name in free:
        return IGNORED_VALUE
    return describe_kind(value) if name in VOLATILE_MEMBERS else strip_volatile(value)


def find_differences(recorded: Any, mock: Any, day: str, within: str = "", at: str = "") -> Iterator[AnswerDifference]:
    """Every place where the mock's value is another; `day` is that of the recording, `within` names what holds it.

    A member that came after that day may be missing in the recording. `day` is empty where that is not known.
    """
    if isinstance(recorded, dict) and isinstance(mock, dict):
        holder = mock["type"] if isinstance(mock.get("type"), str) else within
        for name in [*recorded, *(mock.keys() - recorded.keys())]:
            place = f"{at}.{name}" if at else name
            if name not in mock:
                yield AnswerDifference(place, shorten_repr(recorded[name], MAX_LENGTH), ABSENT)
            elif name in recorded:
                yield from find_differences(recorded[name], mock[name], day, name, place)
            elif day >= MEMBER_SINCE.get(f"{holder}.{name}", ""):
                yield AnswerDifference(place, ABSENT, shorten_repr(mock[name], MAX_LENGTH))
    elif isinstance(recorded, list) and isinstance(mock, list) and len(recorded) == len(mock):
        for index, (one, other) in enumerate(zip(recorded, mock, strict=True)):
            yield from find_differences(one, other, day, within, f"{at}[{index}]")
    elif recorded != mock or isinstance(recorded, bool) != isinstance(mock, bool):
        yield AnswerDifference(at, shorten_repr(recorded, MAX_LENGTH), shorten_repr(mock, MAX_LENGTH))


def label_ids(value: Any, ids: Mapping[str, str]) -> Any:
    """A value with every text that is an id replaced by the name it has in `ids`."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, list):
        return [label_ids(one, ids) for one in value]
    return {name: label_ids(one, ids) for name, one in value.items()} if isinstance(value, dict) else value


def describe_kind(value: Any) -> str:
    """What kind of value this is, in words."""
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object")
