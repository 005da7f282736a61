"""When Python collects garbage: not while nothing collectable is created, and in a server little at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SERVER_THRESHOLDS = (50_000, 5, 100_000)
"""The collector's thresholds in a server: objects in the youngest generation, collections before one of the next two."""


@contextmanager
def paused_collection() -> Iterator[None]:
    """Suspend garbage collection within a `with` block, such as one that only imports or parses.

    With the objects of a large library in memory, each collection takes tens of milliseconds.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def small_collections() -> Iterator[None]:
    """Let the servers of this process collect garbage often and little of it, and existing objects not at all.

    What a World stores is not garbage, and no client is served while a collection walks over it.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SERVER_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def collect_new_garbage() -> None:
    """Collect what is garbage among the objects created since the last call, if `small_collections` is in force.

    Python counts the objects created minus those freed. While each new World, or each new response, replaces an old
    one, that number stays near zero, and a collection of the youngest generation comes late: it then walks over all
    10,000 Worlds, for up to half a second. A server therefore calls this ten times a second.
    """
    if gc.get_threshold() == SERVER_THRESHOLDS:
        gc.collect(1)
