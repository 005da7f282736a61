"""Lists of a project: pages of objects, and lists without pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.api.paging import page
from harness.core.exchange import Json

PROJECT_LIST = ("data", "first_id", "last_id", "has_more", "object")
"""The members of a paged list, in order (recorded 2026-02 to 2026-05: memory stores, toolboxes)."""
SKILL_LIST = ("object", "data", "first_id", "last_id", "has_more")
"""The members of a paged list of skills (recorded 2026-07-01)."""
SESSION_LIST = ("data", "first_id", "last_id", "has_more")
"""The members of a list of sessions, which has no `object` (recorded)."""


def value_list(items: Iterable[Json]) -> Json:
    """Make a list without pages, like those of Azure's own resources."""
    return {"value": list(items)}


def page_list(
    items: Sequence[Json],
    query: Mapping[str, Any],
    members: Sequence[str] = PROJECT_LIST,
    no_id: str | None = "",
    id_member: str = "id",
) -> Json:
    """Make a page of `items` (oldest first), newest first unless `order=asc`; an empty one has the ids `no_id`."""
    shown = page(items, query, id_member=id_member)
    ends = dict.fromkeys(("first_id", "last_id"), no_id) if not shown["data"] else {}
    return {name: {**shown, **ends}[name] for name in members}


def agent_page(
    items: Sequence[Json], query: Mapping[str, Any], members: Sequence[str] = PROJECT_LIST, id: str = "id"
) -> Json:
    """Make a page as the agent service does, of `items` (oldest first); recorded: an empty one has no ids."""
    shown = page_list(items, query, members, id_member=id)
    ends = () if shown["data"] else ("first_id", "last_id")
    return {name: value for name, value in shown.items() if name not in ends}
