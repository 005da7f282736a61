"""Items as they stand in a response."""

from typing import Any

from harness.core.ids import Ids
from harness.items.kind import Item, render_item

NOW = 1788812320


def wire(made: Item, **options: Any) -> dict[str, Any]:
    """Return an item with its ids."""
    ids = Ids("items")
    return render_item(made, ids, ids.response(NOW), NOW, **options)
