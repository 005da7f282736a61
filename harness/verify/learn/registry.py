"""What a lesson is: what an answered request teaches a World, one function for each operation that stores something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.core.exchange import Json, Request
from harness.world.world import World

Lesson = Callable[[World, Request, Json, Sequence[Json]], None]
"""Takes the object of the answer (`{}` where there is none) and the events of its stream."""
PRESUMED: Json = {}
"""The object of a conversation that the tape goes on with but never made."""


def typed_items(items: Sequence[Any]) -> list[Json]:
    """Those of recorded items that can be remembered: with a type, and an id that is one."""
    return [item for item in items if _is_typed(item)]


def _is_typed(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str) and isinstance(item.get("id", ""), str)
