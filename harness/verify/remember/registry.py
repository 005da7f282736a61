"""The functions that note in a World what an exchange changed, by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.api.operations import OPERATIONS
from harness.contract.check import check
from harness.core.exchange import Json, Request
from harness.core.registry import Registry
from harness.world.api_call import ApiCall
from harness.world.world import World

Remember = Callable[[World, Request, Json, Sequence[Json]], None]
"""Takes the object of the answer (`{}` where there is none) and the events of its stream."""
REMEMBERED: Registry[Remember] = Registry("memory of")
"""By the id of the operation."""
PRESUMED: Json = {}
"""The object of a conversation that the recording continues but never created."""


def remembers(*operations: str) -> Callable[[Remember], Remember]:
    """Register the function that notes what these operations stored or deleted."""

    def register(note: Remember) -> Remember:
        for operation in operations:
            REMEMBERED.add(operation, note, note.__module__)
        return note

    return register


def typed_items(items: Sequence[Any]) -> list[Json]:
    """Select the recorded items that can be stored: those with a type, whose id, if any, is a string."""
    return [item for item in items if _is_typed(item)]


def _is_typed(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str) and isinstance(item.get("id", ""), str)


def play(world: World, request: Request) -> Json:
    """Have the mock itself answer a request to a Foundry project; returns the answer, `{}` for a refusal."""
    if check(request, world) is not None:
        return {}
    answer = OPERATIONS[request.operation].handler(ApiCall(request, world))
    return answer.body if isinstance(answer.body, dict) else {}
