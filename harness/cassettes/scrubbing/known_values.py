"""Values known to be secret, and a search for them whose cost hardly depends on their number."""

from __future__ import annotations

from collections.abc import Iterable

from harness.cassettes.scrubbing.encodings import json_escapes

_FEW = 16
"""As many spellings are searched for one by one; among more, those whose end is in the text."""
_END = 6
"""Characters of an end, in which values differ more than in their start; no value is shorter."""
_LONGEST = 80
"""What counts as the length of the shortest value, if that is longer."""


class KnownValues:
    """Secret values in all spellings of JSON.

    The answers of an API behind a proxy each set a new cookie, so there may be tens of thousands.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._by_end: dict[str, list[tuple[int, str, str]]] = {}
        self._count = 0
        self.shortest = _LONGEST
        self.add(values)

    def add(self, values: Iterable[str]) -> list[str]:
        """Add values, and return those that are new."""
        new = [value for value in dict.fromkeys(values) if value not in self._values]
        self._values.update(new)
        self.shortest = min([self.shortest, *map(len, new)])
        for value in new:
            for spelling in json_escapes(value):
                self._by_end.setdefault(spelling[-_END:], []).append((-len(value), value, spelling))
                self._count += 1
        return new

    def find_spellings(self, text: str) -> list[str]:
        """Return the spellings of values that a text contains, those of the longest value first."""
        ends: Iterable[str] = self._by_end
        if self._count > _FEW:
            ends = self._by_end.keys() & {text[at : at + _END] for at in range(len(text) - _END + 1)}
        found = [entry for end in ends for entry in self._by_end[end] if entry[2] in text]
        return [spelling for *_, spelling in sorted(found)]
