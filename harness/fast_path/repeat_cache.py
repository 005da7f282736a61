"""Keeps what came more than once, of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAX_CACHE_SIZE = 4 * 1024 * 1024
"""Bytes of all entries of a cache, those used last."""
MAX_SEEN = 1_024
"""How many keys a cache remembers as seen once."""
_OVERHEAD = 8_192
"""Bytes that an entry counts besides its key."""


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
        """Return whether a key came before, as far as is remembered; from now on it did."""
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
