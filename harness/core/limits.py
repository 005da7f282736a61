"""How much is kept, and for how long, unless an option says otherwise: of each kind the oldest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, MutableSequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAX_CACHE_SIZE = 4 * 1024 * 1024
"""Bytes of all entries of a cache, those used last."""
MAX_SEEN = 8_192
"""How many keys a cache remembers as seen once."""
_OVERHEAD = 8_192
"""Bytes that an entry counts besides its key."""
_SPARE = 16
"""What is full loses this part of it at once, since each time costs a walk over what was dropped before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At most this many `exchanges` in the journal of a World, `responses` in its store, and `worlds`; None: all."""

    exchanges: int | None = None
    responses: int | None = None
    worlds: int | None = None


UNLIMITED = Limits()
SERVER_LIMITS = Limits(1_000, 10_000, 10_000)
"""What a server keeps that is not told otherwise."""
STORED_SECONDS = 24 * 60 * 60
"""How long a store that servers share keeps a World that nobody uses, unless it is told otherwise."""
STALE_DAYS = 90
"""Days after which a recording is stale, unless a command is told otherwise."""


def drop_oldest(kept: MutableSequence[T], most: int | None) -> None:
    """Drop the first of a list that has more than `most`."""
    if most is not None and len(kept) > most:
        del kept[: len(kept) - most + most // _SPARE]


def oldest_beyond(table: Mapping[K, object], most: int | None) -> list[K]:
    """Return the keys of the first entries of a table that has more than `most`: those that have to go."""
    if most is None or len(table) <= most:
        return []
    return list(islice(table, len(table) - most + most // _SPARE))


class RepeatCache(Generic[K, V]):
    """The values of keys that came more than once, of bounded size: what comes once is not worth keeping."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._seen: set[int] = set()
        self._size = 0

    def get(self, key: K) -> V | None:
        """Return the value of a key, which is used now."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def has_seen(self, key: K) -> bool:
        """Tell whether a key came before, as far as is remembered; from now on it did."""
        if hash(key) in self._seen:
            return True
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen.add(hash(key))
        return False

    def put(self, key: K, value: V, size: int) -> None:
        """Keep the value of a key of so many bytes, and drop those that were used least recently."""
        if key in self._values:
            self._size -= self._values.pop(key)[1]
        self._values[key] = value, size + _OVERHEAD
        self._size += size + _OVERHEAD
        while self._size > MAX_CACHE_SIZE:
            self._size -= self._values.popitem(last=False)[1][1]
