"""Finds the text that a slightly changed one was made from: with another space, without a word.

Texts are compared by their runs of letters and digits, so that the cost of a search depends only on the text's length.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

RUN = 4
"""The length of a run in characters, and so the number of runs that one changed character changes."""
SIMILARITY = 0.6
"""The share of the longer text's runs that two texts must have in common."""
SHORTEST = 16
"""The fewest letters and digits of a text that may differ in them; a shorter one may differ only in separators."""
LONGEST = 20_000
"""The maximum number of letters and digits that are compared, from the beginning."""
MOST_TEXTS = 32
"""The maximum number of texts indexed per run; a phrase that more texts share proves nothing."""
_SEPARATORS = re.compile(r"[\W_]+")


@dataclass(slots=True)
class SimilarTexts(Generic[T]):
    """Maps texts to values and finds the value of a similar text; of equal texts the latest counts.

    Finds are cached, and a text without a match is later compared only with new texts.
    """

    _values: dict[str, T] = field(default_factory=dict)
    _runs_of: list[tuple[str, set[str]]] = field(default_factory=list)
    _by_run: dict[str, list[str]] = field(default_factory=dict)
    _found: dict[str, str] = field(default_factory=dict)
    _compared: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, value: T) -> None:
        """Add a text with its value, replacing the value of an equal text."""
        letters = letters_of(text)
        if len(letters) >= SHORTEST and letters not in self._values:
            runs = _runs(letters)
            self._runs_of.append((letters, runs))
            for run in runs:
                if len(texts := self._by_run.setdefault(run, [])) < MOST_TEXTS:
                    texts.append(letters)
        if letters:
            self._values[letters] = value

    def find(self, text: str) -> T | None:
        """Find the value of the most similar text; None when none is similar."""
        if not self._values:
            return None
        letters = letters_of(text)
        if letters not in self._values:
            letters = self._find_nearest(letters)
        return self._values.get(letters)

    def _find_nearest(self, letters: str) -> str:
        """Find the letters of a similar text; empty when none is similar."""
        if letters not in self._found and len(letters) >= SHORTEST:
            runs = _runs(letters)
            if compared := self._compared.get(letters, 0):
                candidates = self._runs_of[compared:]  # the earlier ones did not match
            else:
                # Comparing only the text with the most runs in common keeps the cost independent of their number.
                shared = Counter(candidate for run in runs for candidate in self._by_run.get(run, ()))
                candidates = [(candidate, _runs(candidate)) for candidate, _ in shared.most_common(1)]
            self._compared[letters] = len(self._runs_of)
            for candidate, candidate_runs in candidates:
                if len(runs & candidate_runs) >= SIMILARITY * max(len(runs), len(candidate_runs)):
                    self._found[letters] = candidate
                    break
        return self._found.get(letters, "")


def is_similar_text(one: str, other: str) -> bool:
    """Return whether one text may be a slightly changed form of the other."""
    texts: SimilarTexts[bool] = SimilarTexts()
    texts.add(one, True)
    return texts.find(other) is not None


def letters_of(text: str) -> str:
    """Keep the letters and digits of a text, in lower case."""
    return _SEPARATORS.sub("", text[: 4 * LONGEST])[:LONGEST].casefold()


def _runs(letters: str) -> set[str]:
    return {letters[start : start + RUN] for start in range(max(1, len(letters) - RUN + 1))}


def describe_edit(was: str, now: str, width: int = 12) -> tuple[str, str]:
    """Cut both texts around their first difference, with `width` characters before and after."""
    start = next(
        (index for index, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), min(len(was), len(now))
    )
    return was[max(0, start - width) : start + width], now[max(0, start - width) : start + width]
