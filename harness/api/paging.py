"""One page of a list by `after`, `before`, `limit` (20) and `order` (newest first)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.exchange import Json

DEFAULT_PAGE_SIZE = 20


def page(items: Sequence[Json], query: Mapping[str, Any], limit: int = DEFAULT_PAGE_SIZE) -> Json:
    """A list object over `items` (oldest first); `after` and `before` in the query are ids of items at the page's ends.

    `limit` is the default number of items of a page. Ids that the list does not have count as absent; the rules of
    `cursors` refuse unknown ones.
    """
    ordered = list(items) if query.get("order") == "asc" else list(reversed(items))
    places = {item["id"]: index for index, item in enumerate(ordered)}
    rest = ordered[places.get(query.get("after"), -1) + 1 : places.get(query.get("before"))]
    shown = rest[: query.get("limit", limit)]
    return list_object(shown, more=len(rest) > len(shown))


def list_object(items: Sequence[Json], *, more: bool = False) -> Json:
    """A list object with these items in this order; `more` says whether others follow."""
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "has_more": more,
        "last_id": items[-1]["id"] if items else None,
    }
