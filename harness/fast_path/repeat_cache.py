"""A bounded cache that keeps only what occurs more than once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAX_CACHE_SIZE = 4 * 1024 * 1024
"""Bytes of all entries of a cache; the least recently used are dropped first."""
MAX_SEEN = 1_024
"""How many keys a cache remembers as seen once."""
_OVERHEAD = 8_192
"""Bytes that an entry counts for in addition to its key."""


class RepeatCache(Generic[K, V]):
    """The values of keys that occurred more than once, bounded in size: what occurs once is not worth caching."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._seen: set[int] = set()
        self._size = 0

    def get(self, key: K) -> V | None:
        """Return the value of a key, and mark it as recently used."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def has_seen(self, key: K) -> bool:
        """Return whether a key was seen before, as far as is remembered, and remember it."""
        # Hashes are enough and hold no memory: a collision only caches an entry too early.
        if hash(key) in self._seen:
            return True
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen.add(hash(key))
        return False

    def put(self, key: K, value: V, size: int) -> None:
        """Store the value of a key of `size` bytes, and drop the least recently used entries."""
        if key in self._values:
            self._size -= self._values.pop(key)[1]
        self._values[key] = value, size + _OVERHEAD
        self._size += size + _OVERHEAD
        while self._size > MAX_CACHE_SIZE:
            self._size -= self._values.popitem(last=False)[1][1]
