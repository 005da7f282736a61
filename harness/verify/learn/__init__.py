"""What a World learns from recorded exchanges: the objects that the API stored, as far as its answers show them.

One module for each kind of object; whether an answer is right is judged in `judging`.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from itertools import islice
from typing import Any

from harness.core.exchange import Json, Request
from harness.core.registry import import_modules
from harness.verify.learn.registry import LEARNERS, PRESUMED
from harness.world.world import World

__all__ = ["LEARNERS", "MIN_REMEMBERED", "PRESUMED", "remember"]

MIN_REMEMBERED = 1000
"""Responses, conversations and items, the newest, that a World remembers at least: memory is bounded for any recording."""
import_modules(__name__, ("responses", "conversations", "files", "threads", "agents"))


def remember(world: World, request: Request, answer: Any, events: Sequence[Json] | None = None) -> None:
    """Note in `world` what an answered request has stored or deleted.

    `answer` is the object of the answer, `events` are those of its stream.
    """
    if learner := LEARNERS.get(request.operation):
        learner(world, request, answer if isinstance(answer, dict) else {}, events or ())
        _forget_oldest(world)


def _forget_oldest(world: World) -> None:
    """Drop the oldest objects of a table once it holds twice as many as are to be remembered."""
    store = world.store
    for table in (store.responses, store.pending, store.conversations, store.assistants, store.threads, store.agents):
        _drop_oldest(table, MIN_REMEMBERED)
    for links in (store.items, store.reasoning_of, store.follower_of, store.files, store.vector_stores):
        _drop_oldest(links, 8 * MIN_REMEMBERED)


def _drop_oldest(table: MutableMapping[str, Any], count: int) -> None:
    if len(table) > 2 * count:
        for key in list(islice(table, len(table) - count)):
            del table[key]
