"""The pages of a list, as list objects."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.exchange import Json

DEFAULT_PAGE_SIZE = 20


def page(
    items: Sequence[Json], query: Mapping[str, Any], limit: int = DEFAULT_PAGE_SIZE, id_member: str = "id"
) -> Json:
    """Make a page of `items` (oldest first) as a list object; `after` and `before` in the query are ids at its ends.

    `limit` is the default page size; `id_member` is where an item has its id. Ids that are not in the list count as
    absent; the rules of `cursors` refuse unknown ones. A `before` no later than `after` counts as absent, too: recorded
    of a Foundry project (2026-02-12), whose client for .NET sends both ends of its current page.
    """
    ordered = list(items) if query.get("order") == "asc" else list(reversed(items))
    places = {item[id_member]: index for index, item in enumerate(ordered)}
    after, before = (places.get(id) if isinstance(id := query.get(name), str) else None for name in ("after", "before"))
    first = 0 if after is None else after + 1
    if after is not None and before is not None and before <= after:
        before = None
    rest = ordered[first:before]
    shown = rest[: _page_size(query.get("limit"), limit)]
    return list_object(shown, more=len(rest) > len(shown), id_member=id_member)


def _page_size(asked: Any, default: int) -> int:
    """Return the page size; without a schema for the query, `limit` is a string."""
    text = str(asked)
    return int(text[:9]) if text.isdecimal() else default


def list_object(items: Sequence[Json], *, more: bool = False, id_member: str = "id") -> Json:
    """Make a list object of these items in this order; `more` says whether others follow."""
    return {
        "object": "list",
        "data": items,
        "first_id": items[0][id_member] if items else None,
        "has_more": more,
        "last_id": items[-1][id_member] if items else None,
    }
