"""Masks for secrets, rows of `x` of the same length, and pseudonyms for ids, the same each time for the same id."""

import re
from collections.abc import Iterable, Sequence
from hashlib import shake_256
from mmap import ACCESS_COPY, mmap

from harness.cassettes.scrubbing.encodings import json_escapes

_VISIBLE_PREFIX = re.compile(
    r"Bearer\s+|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|github_pat_|[A-Za-z]{2,5}[-_]|AKIA|ASIA|AIza|eyJ"
)
"""The prefix of a key that is kept, to show its kind."""
_IN_PEM = re.compile(r"(\\+[nrt])|[^\s*]")
"""An escaped line break within a key in PEM, which is kept, or one character of the key."""


def mask(text: str, visible: int = 0) -> str:
    """Mask a secret as a row of `x` of its length, except for its first `visible` characters."""
    return text[:visible] + re.sub(r"[^\s*]", "x", text[visible:])


def mask_key(key: str) -> str:
    """Mask a key as a row of `x`, except for the prefix that shows its kind."""
    start = _VISIBLE_PREFIX.match(key)
    visible = start.end() if start else 0
    if "PRIVATE KEY" not in key[:visible]:
        return mask(key, visible)
    return key[:visible] + _IN_PEM.sub(lambda part: part[1] or "x", key[visible:])


_ALPHABETS = ("0123456789", "0123456789abcdef", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def pseudonym(id: str) -> str:
    """Return the pseudonym of an id, with its prefix, length and alphabet; the pseudonym of a pseudonym is itself."""
    if id.count("-") == 4:
        hexes = pseudonym(id.replace("-", ""))
        return re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", hexes)
    start = max(id.rfind("_"), id.rfind("-")) + 1
    prefix, body = id[:start], id[start:]
    if is_pseudonym(id):
        return id
    alphabet = next((letters for letters in _ALPHABETS if set(body) <= set(letters)), _ALPHABETS[-1])
    return _append_checksum(
        prefix, _draw_characters(prefix + body, len(body) - _checksum_length(body), alphabet), len(body), alphabet
    )


def is_pseudonym(id: str) -> bool:
    """Return whether an id was made by `pseudonym`: its last characters are a checksum of the others."""
    bare = id.replace("-", "") if id.count("-") == 4 else id
    start = max(bare.rfind("_"), bare.rfind("-")) + 1
    prefix, body = bare[:start], bare[start:]
    head = body[: len(body) - _checksum_length(body)]
    return any(
        body == _append_checksum(prefix, head, len(body), alphabet)[start:]
        for alphabet in _ALPHABETS
        if set(body) <= set(alphabet)
    )


def _checksum_length(body: str) -> int:
    return min(6, len(body) // 2)


def _append_checksum(prefix: str, head: str, length: int, alphabet: str) -> str:
    return prefix + head + _draw_characters(f"{prefix}{head}=", length - len(head), alphabet)


def _draw_characters(seed: str, length: int, alphabet: str) -> str:
    return "".join(alphabet[byte % len(alphabet)] for byte in shake_256(seed.encode()).digest(length))


_WORD = re.compile(r"[A-Za-z0-9_.~\-]{6,}")
"""Characters that look the same in JSON, URLs, HTML and YAML."""
_END = 6
"""Characters of the end of a word, in which values differ more than in their start."""
_LONGEST = 80
"""What counts as the length of the shortest value, if that is longer."""


class KnownValues:
    """Secret values in all spellings of JSON.

    The answers of an API behind a proxy each set a new cookie, so there may be tens of thousands: a text is searched only
    for those of which it has the end of the longest word, and only in words that are as long.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._by_end: dict[str, list[tuple[int, str, str]]] = {}
        self._words = _WORD
        self.shortest = self._shortest_word = _LONGEST
        self.add(values)

    def add(self, values: Iterable[str]) -> list[str]:
        """Add values, and return those that are new."""
        new = [value for value in dict.fromkeys(values) if value not in self._values]
        self._values.update(new)
        self.shortest = min([self.shortest, *map(len, new)])
        for value in new:
            for spelling in json_escapes(value):
                word = _longest_word(spelling)
                self._by_end.setdefault(word[-_END:], []).append((-len(value), value, spelling))
                self._shortest_word = min(self._shortest_word, len(word) or _LONGEST)
        if new:
            self._words = re.compile(rf"[A-Za-z0-9_.~\-]{{{self._shortest_word},}}")
        return new

    def find_spellings(self, text: str) -> list[str]:
        """Return the spellings of values that a text contains, those of the longest value first."""
        if not self._by_end:
            return []
        ends = {
            word[start : start + _END] for word in self._words.findall(text) for start in range(len(word) - _END + 1)
        }
        ends.add("")
        found = [entry for end in self._by_end.keys() & ends for entry in self._by_end[end] if entry[2] in text]
        return [spelling for *_, spelling in sorted(found)]


def _longest_word(text: str) -> str:
    return max(_WORD.findall(text), key=len, default="")


_PIECE = 8
"""Characters of the pieces into which words are cut."""
_SLOTS = 1 << 27
"""The number of bits that note which pieces there were."""


class SeenWords:
    """The words of scrubbed exchanges, by number; only words that an exchange's text hides are kept for each."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._joined = bytearray()
        self._pieces = mmap(-1, _SLOTS // 8, access=ACCESS_COPY)  # takes memory where bits are set
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
        """Return a part of each value that any exchange may contain; an empty value is part of all."""
        marks = map(_longest_word, values)
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
