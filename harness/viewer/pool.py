"""Values that repeat, each stored once: the pool of a case, written and read.

A large text, list or object becomes `{"$": n}`, the value at index n of the pool. A list that begins like one before is
`{"$list": n, "keep": k, "then": […]}`: the first k elements of the list at index n, then others. What a client sends
again and again, its history, so costs a few bytes a request, however long it is: the list in the pool grows with it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import orjson

from harness.core.text import escape_controls

MIN_TEXT = 48
"""Minimum length, in characters, of a text that is stored once."""
MIN_SIZE = 24
"""Minimum size, in bytes of JSON, of an object or list that is stored once."""
MIN_LIST = 4
"""Minimum length of a list that shares its beginning with others."""
MAX_THEN = 32
"""How many elements of its own a list may have after the shared ones; with more, it is stored as a whole."""
MAX_BASES = 4
"""How many lists with the same first element a list is compared with, the newest ones."""
MAX_DEPTH = 200
"""The maximum nesting; deeper values are shown as `…`."""
MAX_SAFE_NUMBER = 1 << 53
"""Numbers from here on are stored as text, as a browser would round them."""
_MARKS = ("$", "$list", "$literal")


class Pool:
    """Stores values once, in `entries`. Every text goes through `clean`, which hides secrets.

    A stored value must not be changed.
    """

    def __init__(self, clean: Callable[[str], str] = str) -> None:
        self.entries: list[Any] = []
        self.clean = clean
        self._by_digest: dict[bytes, Any] = {}
        self._by_object: dict[int, tuple[Any, Any]] = {}
        self._bases: dict[bytes, deque[int]] = {}

    def put(self, value: Any) -> Any:
        """Store a value once unless it is small, and return its reference."""
        if isinstance(value, str):
            return self._put_text(value)
        if not isinstance(value, dict | list | tuple):
            return self._plain(value)
        if known := self._by_object.get(id(value)):
            return known[1]
        shown = self._put_container(value, MAX_DEPTH)
        self._by_object[id(value)] = (value, shown)
        return shown

    def inside(self, value: Any) -> Any:
        """Store the parts of a value once, but not the value itself, which occurs only once."""
        return self._encode(value, MAX_DEPTH)

    def put_list(self, elements: Sequence[Any], tail: Sequence[Any] = ()) -> Any:
        """Store a list of references into this pool, which may share its beginning with earlier lists.

        The `tail` belongs only to this list: later lists continue the `elements`.
        """
        if len(elements) < MIN_LIST:
            return [*elements, *tail]
        shared = self._share([*elements])
        return {**shared, "then": [*shared["then"], *tail]} if tail else shared

    def label(self, text: str) -> str:
        """Clean a text that is not wire data: secrets hidden, control characters escaped."""
        return escape_controls(self.clean(text))

    def _put(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._put_text(value)
        if isinstance(value, dict | list | tuple):
            return self._put_container(value, depth) if depth else "…"
        return self._plain(value)

    def _put_container(self, value: Any, depth: int) -> Any:
        if not isinstance(value, dict) and len(value) >= MIN_LIST:
            return self._share([self._put(element, depth - 1) for element in value])
        digest = _digest(value)
        if digest is not None and digest in self._by_digest:
            return self._by_digest[digest]
        shown = self.put_shown(self._encode(value, depth))
        if digest is not None:
            self._by_digest[digest] = shown
        return shown

    def put_shown(self, shown: Any) -> Any:
        """Store a value that consists of references already, unless it is small."""
        text = orjson.dumps(shown)
        if len(text) < MIN_SIZE:
            return shown
        return self._entry(b"shown" + text, shown)

    def _put_text(self, text: str) -> Any:
        if len(text) < MIN_TEXT:
            return self.clean(text)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=b"text").digest()
        if key not in self._by_digest:
            self._by_digest[key] = self._append(self.clean(text))
        return self._by_digest[key]

    def _entry(self, text: bytes, shown: Any) -> Any:
        key = blake2b(text, digest_size=16, person=b"shown").digest()
        if key not in self._by_digest:
            self._by_digest[key] = self._append(shown)
        return self._by_digest[key]

    def _append(self, shown: Any) -> Any:
        self.entries.append(shown)
        return {"$": len(self.entries) - 1}

    def _encode(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            members = {self.clean(str(name)): self._put(member, depth - 1) for name, member in value.items()}
            return {"$literal": members} if any(mark in members for mark in _MARKS) else members
        if isinstance(value, list | tuple):
            return [self._put(element, depth - 1) for element in value]
        return self.clean(value) if isinstance(value, str) else self._plain(value)

    def _plain(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return value if math.isfinite(value) and abs(value) < MAX_SAFE_NUMBER else str(value)
        return self._put_text(value.decode("latin-1") if isinstance(value, bytes) else str(value))

    def _share(self, shown: list[Any]) -> Any:
        """Store a list of references, as the continuation of an earlier list if possible."""
        if len(shown) < MIN_LIST:
            return shown
        bases = self._bases.setdefault(orjson.dumps(shown[0]), deque(maxlen=MAX_BASES))
        common, index = max(((_count_common(self.entries[index], shown), index) for index in bases), default=(0, -1))
        if index >= 0:
            base = self.entries[index]
            if common == len(base):
                # Extending the base in place costs nothing: earlier references keep only its first elements.
                base += shown[common:]
                return _beginning(index, len(shown))
            if len(shown) - common <= MAX_THEN and common:
                return _beginning(index, common, shown[common:])
        self.entries.append(shown)
        bases.append(len(self.entries) - 1)
        return _beginning(bases[-1], len(shown))


class PoolReader:
    """Resolves the references into a pool; a value with several references becomes one object."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self._entries = entries
        self._read: dict[int, Any] = {}

    def value(self, shown: Any) -> Any:
        """Return the value that a reference, or a structure of references, stands for."""
        if isinstance(shown, list):
            return [self.value(element) for element in shown]
        if not isinstance(shown, dict):
            return shown
        if (index := shown.get("$")) is not None:
            if index not in self._read:
                self._read[index] = self.value(self._entries[index])
            return self._read[index]
        if (base := shown.get("$list")) is not None:
            return [self.value(element) for element in (*self._entries[base][: shown["keep"]], *shown["then"])]
        members = shown.get("$literal", shown)
        return {name: self.value(member) for name, member in members.items()}


def _beginning(index: int, keep: int, then: Sequence[Any] = ()) -> Any:
    return {"$list": index, "keep": keep, "then": [*then]}


def _count_common(base: list[Any], shown: list[Any]) -> int:
    """Count the elements that two lists have in common at the beginning."""
    length = min(len(base), len(shown))
    if base[:length] == shown[:length]:
        return length
    return next(place for place in range(length) if base[place] != shown[place])


def _digest(value: Any) -> bytes | None:
    """Hash a value by its JSON; None if it has none: nested too deeply, too large a number, an unpaired surrogate."""
    try:
        return blake2b(orjson.dumps(value), digest_size=16).digest()
    except (orjson.JSONEncodeError, RecursionError):
        return None
