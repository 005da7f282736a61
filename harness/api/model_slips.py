"""Names that are one typing error from a model's name: `gtp-4.1`, `gpt-4.1-mni`, `gpt-5-codx`.

A slip is one missing, extra or wrong letter, or two swapped ones, in one word of the name; everything else must be as
in the known name, above all the digits: another number is another model. Names that people make up for their own models
do not count: words of one or two letters (`gpt-5o`) have no slips, short words at the end only swapped letters
(`gpt-5-prod` is not `gpt-5-pro`), later words keep their first letter (`o1-review`), and nothing may precede a name
(`xgpt-4o`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z]+")
_SHORTEST_WORD = 3
_OWN_WORDS = frozenset({"code", "lunar", "astral", "terran"})
"""Words one slip from a word in a model's name that mean something else: `gpt-5-code` is not `gpt-5-codex`."""

Shape = tuple[str, ...]
NamesByShape = Mapping[Shape, Sequence[str]]
"""Known names, grouped by the separators around their words."""


def group_by_shape(names: Iterable[str]) -> NamesByShape:
    """Group names by shape, within which slips are searched."""
    groups: dict[Shape, list[str]] = {}
    for name in names:
        groups.setdefault(_shape(name), []).append(name)
    return groups


def find_meant(name: str, known: NamesByShape) -> str | None:
    """Return the known name that differs from a name by one slip, or None."""
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
    """Return the text before, between and after the words of a name."""
    return tuple(_WORD.split(name))


def _is_slip(place: int, word: str, meant: str) -> bool:
    """Return whether a word is one slip from the meant one; `place` is its index in the name."""
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
    """Return whether only two neighbouring letters are swapped."""
    if len(word) != len(meant):
        return False
    first = next((index for index in range(len(word)) if word[index] != meant[index]), len(word))
    return word[first:] == meant[first : first + 2][::-1] + meant[first + 2 :] != meant[first:]
