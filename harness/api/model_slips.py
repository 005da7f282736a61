"""Names that are one slip of the keyboard from the name of a model: `gtp-4.1`, `gpt-4.1-mni`, `gpt-5-codx`.

A slip is one letter too many, too few or wrong, or two that changed places, in one word of the name; everything else is as
it is in the known name, digits above all: another number is another model. What people call models of their own is let be:
words of one or two letters (`gpt-5o`) have no slips, short words at the end only swapped letters (`gpt-5-prod` is no
`gpt-5-pro`), later words keep their first letter (`o1-review`), and nothing is put before a name (`xgpt-4o`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z]+")
_SHORTEST_WORD = 3
_OWN_WORDS = frozenset({"code", "lunar", "astral", "terran"})
"""Words that are one slip from a word of a model's name and mean something else: `gpt-5-code` is no `gpt-5-codex`."""

Shape = tuple[str, ...]
NamesByShape = Mapping[Shape, Sequence[str]]
"""Known names by what stands between their words."""


def group_by_shape(names: Iterable[str]) -> NamesByShape:
    """Group names by their shape, in which a slip is looked for."""
    groups: dict[Shape, list[str]] = {}
    for name in names:
        groups.setdefault(_shape(name), []).append(name)
    return groups


def find_meant(name: str, known: NamesByShape) -> str | None:
    """Find the known name from which a name is one slip; None for any other name."""
    words = _WORD.findall(name)
    for correct in known.get(_shape(name), ()):
        differing = [
            (place, word, meant)
            for place, (word, meant) in enumerate(zip(words, _WORD.findall(correct), strict=True))
            if word != meant
        ]
        if len(differing) == 1 and _is_slip(*differing[0]):
            return correct
    return None


def _shape(name: str) -> Shape:
    """Find what stands before, between and after the words of a name."""
    return tuple(_WORD.split(name))


def _is_slip(place: int, word: str, meant: str) -> bool:
    """Return whether a word is one slip from the meant one; `place` is its place in the name, from 0."""
    if len(meant) < _SHORTEST_WORD or word.lower() == meant.lower() or word in _OWN_WORDS:
        return False
    if _has_swapped_letters(word, meant):
        return True
    if place and (len(meant) == _SHORTEST_WORD or word[0] != meant[0]):
        return False
    if len(word) == len(meant):
        return sum(letter != due for letter, due in zip(word, meant, strict=True)) == 1
    if len(word) == len(meant) + 1:
        is_doubled = word[0] == word[1]
        return any(word[:index] + word[index + 1 :] == meant for index in range(0 if is_doubled else 1, len(word)))
    return any(meant[:index] + meant[index + 1 :] == word for index in range(len(meant)))


def _has_swapped_letters(word: str, meant: str) -> bool:
    """Return whether two neighbouring letters have changed places, and nothing else differs."""
    if len(word) != len(meant):
        return False
    first = next((index for index in range(len(word)) if word[index] != meant[index]), len(word))
    return word[first:] == meant[first : first + 2][::-1] + meant[first + 2 :] != meant[first:]
