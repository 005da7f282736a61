"""Adds to a World what the API stored in recorded exchanges, as far as its answers show it.

`judging` decides whether an answer is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from harness.api.http.dialects import user_of
from harness.api.operations import OPERATIONS
from harness.core.exchange import Json, Request
from harness.foundry.access import OWNERS
from harness.verify.remember.objects import PRESUMED, REMEMBERED, play
from harness.world.world import World

__all__ = ["MIN_REMEMBERED", "PRESUMED", "REMEMBERED", "remember"]

MIN_REMEMBERED = 1000
"""The minimum number of newest objects per table that a World remembers; older ones are dropped to bound memory."""
_SMALL_OBJECTS = ("items", "reasoning_of", "follower_of", "files", "vector_stores")
"""Tables that remember eight times as many objects."""


def remember(world: World, request: Request, answer: Any, events: Sequence[Json] | None = None) -> None:
    """Record in `world` what an answered request stored or deleted.

    `answer` is the object in the answer, `events` are the events of its stream.
    """
    operation = OPERATIONS.get(request.operation)
    if note := REMEMBERED.get(request.operation):
        note(world, request, answer if isinstance(answer, dict) else {}, events or ())
    elif operation and operation.is_project and request.method != "GET":
        play(world, request)
    else:
        return
    if user := user_of(request):
        _note_owner(world, user, answer)
    _forget_oldest(world)


def _note_owner(world: World, user: str, answer: Any) -> None:
    """Record the user on whose behalf a response or a conversation of Foundry was created."""
    id = answer.get("id") if isinstance(answer, dict) else None
    if isinstance(id, str) and (id in world.store.responses or id in world.store.conversations):
        world.store.table(OWNERS).setdefault(id, user)


def _forget_oldest(world: World) -> None:
    """Drop the oldest objects of each table that has twice as many as it must remember."""
    for name, remembered in world.store.tables.items():
        if len(remembered) <= 2 * MIN_REMEMBERED:
            continue
        count = MIN_REMEMBERED * (8 if name in _SMALL_OBJECTS else 1)
        if len(remembered) > 2 * count:
            for key in list(islice(remembered, len(remembered) - count)):
                del remembered[key]
