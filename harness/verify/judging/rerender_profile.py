"""Selects the parts of a recorded response that are compared with the mock's: those that request and output determine.

What the API chooses anew each time is compared by its type; what the account, an unknown model or a template decides,
by its presence. A recording may lack members that the API introduced later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from harness.answers.parameters import ITEM_SINCE, PARAMETERS, RESULT_SINCE, parameters_decided_by
from harness.answers.reader import strip_volatile
from harness.api.http.dialects import AZURE_DIALECTS, OPENAI, agent_of
from harness.cassettes.format.recorded import Recorded
from harness.core.exchange import Json, Request
from harness.items.transcript import conversation_id
from harness.verify.compare import Profile, describe_kind, map_strings
from harness.verify.judging.unverifiable import has_unrecorded_history
from harness.world.world import World

_MEMBERS_BY_DAY = {
    "2025-09-12": ("response.content_filters",),
    "2026-05-06": ("web_search.return_token_budget",),
    "2026-05-28": ("reasoning.context",),
    "2026-06-24": ("web_search.search_content_types", "web_search_preview.search_content_types"),
    "2026-07-03": ("reasoning.mode",),
    "2026-07-13": ("function.output_schema", "object.$schema"),
}
MEMBER_SINCE: Mapping[str, str] = {
    **{name: day for day, names in _MEMBERS_BY_DAY.items() for name in names},
    **{f"{type}.{name}": day for type, members in ITEM_SINCE.items() for name, day in members.items()},
    **{f"response.{name}": day for name, day in RESULT_SINCE.items()},
    **{f"response.{parameter.name}": parameter.since for parameter in PARAMETERS.values()},
}
"""The day since which every recording has a member; the key is the `type` or name of its object, and its name.

Older recordings may lack it, and those of Azure at any time, since members reach Azure region by region.
"""
COMPARABLE_SINCE: Mapping[str, str] = {OPENAI: "2026-04-01", **dict.fromkeys(AZURE_DIALECTS, "2026-08-01")}
"""The day since which a dialect echoes requests as the mock does; for older recordings only names are compared."""
VOLATILE_MEMBERS = frozenset({"id", "created_at", "completed_at", "usage", "model", "tool_usage", "moderation"})
"""Members of a response that differ each time: only the types of their values are compared."""
BILLING_MEMBERS = frozenset({"billing", "content_filters"})
"""Members that depend on the account and are not request parameters."""
IGNORED_VALUE = "…"
"""Stands for a value that is not compared."""
THIS_RESPONSE = "this response"
"""Replaces the id of the response itself, which its items may repeat."""


def make_profile(recorded: Recorded, request: Request, world: World) -> Profile:
    """Build the profile for the recorded answer to this request; `world` remembers the earlier exchanges."""
    day = recorded.date[:10]
    known = "no_request" not in recorded.flags and isinstance(request.body, dict)
    ignored = ignored_members(request, world, day) if known else None
    since = day if recorded.provider == OPENAI else ""  # no day is known for Azure
    return Profile(
        view=lambda response: mask_ignored(response, ignored),
        is_optional=lambda holder, name: since < MEMBER_SINCE.get(f"{holder}.{name}", ""),
    )


def ignored_members(request: Request, world: World, day: str) -> Collection[str] | None:
    """List the members of a response whose values are not compared; None, for recordings that are too old, means all."""
    if day < COMPARABLE_SINCE[request.dialect]:
        return None
    body = request.body
    requested = {name for name, value in body.items() if isinstance(value, bool | int | float | str)} - {"service_tier"}
    names = BILLING_MEMBERS | parameters_decided_by("account")
    if body.get("prompt") or agent_of(request):
        names |= parameters_decided_by("template")
    elif world.models.find(str(body.get("model"))) is None:
        names |= parameters_decided_by("model")
    conversation = conversation_id(body)
    if has_unrecorded_history(body, world) or (conversation and conversation not in world.store.conversations):
        names |= {"tools"}
    return names - requested


def mask_ignored(response: Json, ignored: Collection[str] | None) -> Json:
    """Mask a response for comparison: replace ids with what they refer to, ignored values with IGNORED_VALUE."""
    if ignored is None:
        return dict.fromkeys(response, IGNORED_VALUE)
    ids = {item["id"]: f"item {index}" for index, item in enumerate(response.get("output") or ()) if item.get("id")}
    ids[str(response.get("id"))] = THIS_RESPONSE
    compared = {name: _mask_member(name, value, ignored) for name, value in response.items()}
    masked: Json = map_strings(compared, lambda text: ids.get(text, text))
    return masked


def _mask_member(name: str, value: Any, ignored: Collection[str]) -> Any:
    if name in ignored:
        return IGNORED_VALUE
    return describe_kind(value) if name in VOLATILE_MEMBERS else strip_volatile(value)
