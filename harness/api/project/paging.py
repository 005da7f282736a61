"""Lists of a Foundry project: the members and their order as recorded."""

from __future__ import annotations

from collections.abc import Sequence

from harness.api.paging import page
from harness.core.exchange import Json, Request


def page_of(items: Sequence[Json], request: Request, id: str = "id") -> Json:
    """A page of `items` (oldest first) as a project shows it; `id` is the member by which a cursor names one.

    Recorded: one that is empty names no ids.
    """
    named = [{"id": each[id], "shown": each} for each in items]
    found = page(named, request.query)
    ends = {name: found[name] for name in ("first_id", "last_id") if found["data"]}
    data = [each["shown"] for each in found["data"]]
    return {"data": data, **ends, "has_more": found["has_more"], "object": "list"}
