"""The words of exchanges that were scrubbed, to find those that contain a secret or an id that is learned later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[A-Za-z0-9_.~\-]{6,}")
"""Characters that look the same in JSON, URLs, HTML and YAML."""
_PIECE = 8
"""Characters of the pieces into which words are cut."""
_SLOTS = 1 << 27
"""The number of bits that note which pieces there were."""


class SeenWords:
    """The words of scrubbed exchanges, by number; only words that an exchange's text hides are kept for each."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._joined = bytearray()
        self._pieces = bytearray(_SLOTS // 8)
        self._hidden: dict[int, str] = {}

    def add(self, number: int, text: str, decoded: Iterable[str]) -> None:
        """Add an exchange: its text, and what it contains decoded or spread over several events."""
        visible, words = set(_WORD.findall(text)), set(_WORD.findall("\n".join(decoded)))
        new = (words | visible) - self._known
        self._known |= new
        self._joined += "".join(f"{word}\n" for word in new).encode()
        for word in new:
            # Cut from the end: ids of a kind begin alike, and are told apart by what follows.
            for end in range(len(word), _PIECE - 1, -_PIECE):
                slot = hash(word[end - _PIECE : end]) % _SLOTS
                self._pieces[slot >> 3] |= 1 << (slot & 7)
        self._hidden.pop(number, None)
        if hidden := words - visible:
            self._hidden[number] = "\n".join(hidden)

    def find_marks(self, values: Iterable[str]) -> list[str]:
        """Return a part of each of these values that any exchange may contain; an empty one is in all of them."""
        marks = (max(_WORD.findall(value), key=len, default="") for value in values)
        return [mark for mark in marks if self._may_be_seen(mark) and mark.encode() in self._joined]

    def _may_be_seen(self, mark: str) -> bool:
        """Return whether the end of a mark has a piece of a word: wherever words are cut, a piece of it fits in there."""
        ends = range(len(mark), len(mark) - _PIECE, -1)
        slots = (hash(mark[end - _PIECE : end]) % _SLOTS for end in ends)
        return len(mark) < 2 * _PIECE or any(self._pieces[slot >> 3] & 1 << (slot & 7) for slot in slots)

    def may_contain(self, number: int, text: str, marks: Sequence[str]) -> bool:
        """Return whether an exchange with this text may contain a value with one of these marks."""
        hidden = self._hidden.get(number, "")
        return any(mark in text or mark in hidden for mark in marks)
