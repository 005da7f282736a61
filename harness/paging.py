"""One page of a list, as the API cuts it: `after`, `limit` (20), `order` (newest first)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.exchange import Json

LIMIT = 20


def page(items: Sequence[Json], query: Mapping[str, Any]) -> Json:
    """A list object over `items` (oldest first); `after` is the id of the last item of the page before."""
    ordered = list(items) if query.get("order") == "asc" else list(reversed(items))
    after = query.get("after")
    start = next((index + 1 for index, item in enumerate(ordered) if item["id"] == after), 0)
    rest = ordered[start:]
    shown = rest[: query.get("limit", LIMIT)]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "has_more": len(rest) > len(shown),
        "last_id": shown[-1]["id"] if shown else None,
    }
