"""Limits: of a request's size, of what is kept, the oldest dropped first, and of the garbage that Python collects.

It collects none while nothing collectable is created, and in a server little at a time.
"""

import gc
from collections.abc import Hashable, Iterator, Mapping, MutableMapping, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
MAX_BODY_SIZE = 512 * 1024 * 1024
"""Bytes of a body beyond which the rest is not read; the documented limit of a request's payload."""
MAX_HEAD_SIZE = 1024 * 1024
"""Bytes of a head, or between two parts of a body, beyond which a request is refused; their cost grows by the square."""
_SPARE = 64
"""The part of a full collection that is dropped at once, as a fraction 1/64.

Each drop costs a walk over what was dropped before; but the memory of only a few objects is still in the CPU's cache
when the next request reuses it.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most `exchanges` in a World's journal, `responses` in its store, and `worlds`; None is unlimited."""

    exchanges: int | None = None
    responses: int | None = None
    worlds: int | None = None


UNLIMITED = Limits()
SERVER_LIMITS = Limits(1_000, 10_000, 10_000)
STORED_SECONDS = 24 * 60 * 60
"""Default seconds that a store shared by servers keeps an unused World."""
STALE_DAYS = 90
"""Default age in days at which a recording is stale."""


def drop_oldest(kept: MutableSequence[T], most: int | None) -> None:
    """Drop the first elements of a list longer than `most`."""
    if most is not None and len(kept) > most:
        del kept[: len(kept) - most + most // _SPARE]


def drop_before(kept: MutableMapping[int, T], number: int) -> None:
    """Drop the entries with numbers below `number`; these come first in the table."""
    for old in [*takewhile(number.__gt__, kept)]:
        del kept[old]


def oldest_beyond(table: Mapping[K, object], most: int | None) -> list[K]:
    """Return the keys of the oldest entries beyond `most`, which are to be dropped."""
    if most is None or len(table) <= most:
        return []
    return list(islice(table, len(table) - most + most // _SPARE))


SERVER_THRESHOLDS = (50_000, 5, 1_000_000)
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
    """Make this process collect garbage often but little at a time, and never the objects that exist now.

    What a World stores is not garbage, nor what a file contains; no client is served while a collection walks over it.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SERVER_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


COLLECTED_ANSWERS = 64
"""How many answers a server sends between two collections."""


def collect_new_garbage() -> None:
    """Collect what is garbage among the objects created since the last call, if `small_collections` is in force.

    Python counts the objects created minus those freed. While each new World, or each new response, replaces an old
    one, that number stays near zero, and a collection of the youngest generation comes late: it then walks over all
    10,000 Worlds, for up to half a second. A server therefore calls this once a second, and after every
    COLLECTED_ANSWERS: what was created meanwhile is still in the processor's cache, where a collection costs a quarter.
    """
    if gc.get_threshold() == SERVER_THRESHOLDS:
        gc.collect(1)
