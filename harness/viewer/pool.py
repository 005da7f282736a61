"""Values that repeat, each stored once without its secrets: the pool of a case, written and read.

A large text, list or object becomes `{"$": n}`, the value at index n of the pool. A list that begins like the one before
is `{"$list": n, "keep": k, "then": […]}`: the first k elements of the list at index n, then others. A history that a
client sends again and again so costs a few bytes a request.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson

from harness.core.exchange import Exchange
from harness.core.secret_prefixes import redact, secrets_in_headers
from harness.core.text import count_shared, escape_controls
from harness.report.report import MAX_SAFE_NUMBER

MIN_SIZE = 24
"""Minimum size, in characters of a text or bytes of JSON, of what is stored once."""
MIN_LIST = 4
"""Minimum length of a list that continues the one before."""
MAX_DEPTH = 200
"""The maximum nesting; deeper values are shown as `…`."""
_MARKS = frozenset(("$", "$list", "$literal"))


class Pool:
    """Stores values once, in `entries`. Every text goes through `clean`, which hides secrets.

    An object or a list that was put is recognized by its identity, so it must not change.
    """

    def __init__(self, clean: Callable[[str], str] = str) -> None:
        self.entries: list[Any] = []
        self.clean = clean
        self._stored: dict[str | bytes, Any] = {}
        self._known: dict[int, tuple[Any, Any]] = {}
        self._bases: dict[bytes, int] = {}

    def put(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        """Store a value once unless it is small, and return its reference."""
        if isinstance(value, str):
            if (stored := self._stored.get(value)) is None:
                stored = self._stored[value] = self._append(self.clean(value), len(value))
            return stored
        if not isinstance(value, (dict, list, tuple)):
            return self._plain(value)
        if known := self._known.get(id(value)):
            return known[1]
        key = _digest(value)
        if (stored := self._stored.get(key)) is None:
            stored = self._show(value, depth)
            if key:
                self._stored[key] = stored
        self._known[id(value)] = value, stored
        return stored

    def _show(self, value: Any, depth: int) -> Any:
        if not depth:
            return "…"
        if not isinstance(value, dict):
            return self.put_list([self.put(element, depth - 1) for element in value])
        shown = self.inside(value, depth)
        return self._append(shown, len(orjson.dumps(shown)))

    def inside(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        """Store the members of an object once, but not the object itself, which occurs only once."""
        if not isinstance(value, dict):
            return self.put(value, depth)
        members = {self.clean(str(name)): self.put(member, depth - 1) for name, member in value.items()}
        return {"$literal": members} if not _MARKS.isdisjoint(members) else members

    def _append(self, shown: Any, size: int = MIN_SIZE) -> Any:
        if size < MIN_SIZE:
            return shown
        self.entries.append(shown)
        return {"$": len(self.entries) - 1}

    def put_list(self, shown: list[Any]) -> Any:
        """Store a list of references as the continuation of the one before, if that begins like its first half."""
        if len(shown) < MIN_LIST:
            return shown
        index = self._bases.get(first := orjson.dumps(shown[0]), len(self.entries))
        base = self.entries[index] if index < len(self.entries) else []
        common = count_shared(base, shown)
        if 2 * common < len(shown):
            self._bases[first] = index = self._append([])["$"]
            base, common = self.entries[index], 0
        if common == len(base):
            # Earlier references keep only its first elements.
            base += shown[common:]
            common = len(shown)
        return {"$list": index, "keep": common, "then": shown[common:]}

    def _plain(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, (int, float)):
            return value if math.isfinite(value) and abs(value) < MAX_SAFE_NUMBER else str(value)
        return self.put(value.decode("latin-1") if isinstance(value, bytes) else str(value))

    def label(self, text: str) -> str:
        """Clean a text that is not wire data: secrets hidden, control characters escaped."""
        return escape_controls(self.clean(text))


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
        return {name: self.value(member) for name, member in shown.get("$literal", shown).items()}


def _digest(value: Any) -> bytes:
    """Hash a value by its JSON; empty if it has none: nested too deeply, too large a number, an unpaired surrogate."""
    try:
        return blake2b(orjson.dumps(value), digest_size=16).digest()
    except (orjson.JSONEncodeError, RecursionError):
        return b""


SHORT_TEXT = 256
SHORT_TEXTS = 4_096
"""How many texts shorter than SHORT_TEXT characters are cached in cleaned form."""


def cleaner_of(exchanges: Iterable[Exchange], more: Iterable[str]) -> Callable[[str], str]:
    """Create the function that hides the secrets in the headers of exchanges, and escapes unpaired surrogates."""
    headers = {id(exchange.request.headers): exchange.request.headers for exchange in exchanges}
    secrets = frozenset(more).union(*map(secrets_in_headers, headers.values()))

    def clean(text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-8", "backslashreplace").decode()
        cleaned: str = redact(text, secrets)
        return cleaned

    clean_again = lru_cache(SHORT_TEXTS)(clean)  # names and types recur in every body
    return lambda text: clean_again(text) if len(text) < SHORT_TEXT else clean(text)
