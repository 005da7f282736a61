"""What a World learns from an exchange somebody recorded: what the API stored, as far as its answers show it."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import islice
from typing import Any

from harness.core.exchange import Json, Request
from harness.verify.learn.conversations import LESSONS as CONVERSATIONS
from harness.verify.learn.files import LESSONS as FILES
from harness.verify.learn.registry import PRESUMED, Lesson
from harness.verify.learn.responses import LESSONS as RESPONSES
from harness.verify.learn.threads import LESSONS as THREADS
from harness.world.world import World

__all__ = ["KEPT", "LESSONS", "PRESUMED", "remember"]

KEPT = 1000
"""Responses, conversations and items a World remembers at least, the newest, so that a tape of any length can be read."""
LESSONS: Mapping[str, Lesson] = {**RESPONSES, **CONVERSATIONS, **FILES, **THREADS}
"""What each operation that stores something teaches."""


def remember(world: World, request: Request, answer: Any, events: Sequence[Json] | None = None) -> None:
    """Note in `world` what this answered request has stored or deleted.

    `answer` is the object the API gave, `events` the stream that told it.
    """
    if lesson := LESSONS.get(request.operation):
        lesson(world, request, answer if isinstance(answer, dict) else {}, events or ())
        _forget_oldest(world)


def _forget_oldest(world: World) -> None:
    """Drop the oldest of what is remembered, once there is twice as much as is kept."""
    store = world.store
    for table in (store.responses, store.pending, store.conversations, store.assistants, store.threads):
        _drop_oldest(table, KEPT)
    for links in (store.items, store.reasoning_of, store.follower_of, store.files, store.vector_stores):
        _drop_oldest(links, 8 * KEPT)


def _drop_oldest(table: MutableMapping[str, Any], kept: int) -> None:
    if len(table) > 2 * kept:
        for key in list(islice(table, len(table) - kept)):
            del table[key]
