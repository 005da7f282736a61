"""Registers, by operation, the functions that record in a World what an exchange changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.api.operations import OPERATIONS
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.exchange import Json, Request
from harness.core.registry import Registry
from harness.world.api_call import ApiCall
from harness.world.world import World

Remember = Callable[[World, Request, Json, Sequence[Json]], None]
"""Receives the object of the answer (`{}` without one) and the events of its stream."""
REMEMBERED: Registry[Remember] = Registry("memory of")
"""The functions by id of the operation."""
PRESUMED: Json = {}
"""The object of a conversation that the recording continues but never created."""


def remembers(*operations: str) -> Callable[[Remember], Remember]:
    """Register the function that records what these operations stored or deleted."""

    def register(note: Remember) -> Remember:
        for operation in operations:
            REMEMBERED.add(operation, note, note.__module__)
        return note

    return register


def typed_items(items: Sequence[Any]) -> list[Json]:
    """Select the recorded items that can be stored: those with a type, whose id, if any, is a string."""
    objects = (item for item in items if isinstance(item, dict))
    return [item for item in objects if isinstance(item.get("type"), str) and isinstance(item.get("id", ""), str)]


def _forget(tables: Sequence[str], parameter: str) -> Remember:
    def forget(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
        for table in tables:
            getattr(world.store, table).pop(request.params[parameter], None)

    return forget


for _deleted, _tables, _parameter in (
    ("/responses/{response_id}", ("responses", "pending"), "response_id"),
    ("/conversations/{conversation_id}", ("conversations",), "conversation_id"),
    ("/assistants/{assistant_id}", ("assistants",), "assistant_id"),
    ("/threads/{thread_id}", ("threads",), "thread_id"),
):
    remembers(f"DELETE {_deleted}")(_forget(_tables, _parameter))


def play(world: World, request: Request) -> None:
    """Let the mock itself handle a request to a Foundry project, unless it would refuse it."""
    if check(WorldCall(request, world)).violation is None:
        OPERATIONS[request.operation].handler(ApiCall(request, world))
