"""The words of exchanges that were scrubbed, to find those that contain a secret or an id that is learned later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[A-Za-z0-9_.~\-]{6,}")
"""Characters that look the same in JSON, URLs, HTML and YAML."""


class SeenWords:
    """The words of scrubbed exchanges, by number; only words that an exchange's text hides are kept for each."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._joined = bytearray()
        self._hidden: dict[int, str] = {}

    def add(self, number: int, text: str, decoded: Iterable[str]) -> None:
        """Add an exchange: its text, and what it contains decoded or spread over several events."""
        visible, words = set(_WORD.findall(text)), set(_WORD.findall("\n".join(decoded)))
        new = (words | visible) - self._known
        self._known |= new
        self._joined += "".join(f"{word}\n" for word in new).encode()
        self._hidden.pop(number, None)
        if hidden := words - visible:
            self._hidden[number] = "\n".join(hidden)

    def find_marks(self, values: Iterable[str]) -> list[str]:
        """Return a part of each of these values that any exchange may contain; an empty one is in all of them."""
        marks = (max(_WORD.findall(value), key=len, default="") for value in values)
        return [mark for mark in marks if mark.encode() in self._joined]

    def may_contain(self, number: int, text: str, marks: Sequence[str]) -> bool:
        """Return whether an exchange with this text may contain a value with one of these marks."""
        hidden = self._hidden.get(number, "")
        return any(mark in text or mark in hidden for mark in marks)
