"""Finds messages that contain a text, or begin or end with it, and the original of a changed or printed text."""

import re
from ast import literal_eval
from collections import Counter
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from warnings import catch_warnings, simplefilter

import orjson

from harness.core.text import count_shared

T = TypeVar("T")

RUN = 4
"""The length of a run in characters, and so the number of runs that one changed character changes."""
SIMILARITY = 0.6
"""The share of the longer text's runs that two texts must have in common."""
SHORTEST = 16
"""The fewest letters and digits of a text that may differ in them; a shorter one may differ only in separators."""
LONGEST = 20_000
"""The maximum number of letters and digits that are compared, from the beginning."""
SHOWN_AROUND = 12
"""Characters that are shown before and after an edit."""
MOST_TEXTS = 32
"""The maximum number of texts indexed per run; a phrase that more texts share proves nothing."""
LONGEST_PARSED_TEXT = 100_000
"""The maximum length in characters of a text that is parsed as an item."""
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


def describe_edit(was: str, now: str) -> tuple[str, str]:
    """Cut both texts around their first difference."""
    start = count_shared(was, now)
    shown = slice(max(0, start - SHOWN_AROUND), start + SHOWN_AROUND)
    return was[shown], now[shown]


class TextIndex:
    """Remembers messages, and for each text that was searched for the messages that contain it."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._known: set[str] = set()
        self._last: Set[str] = frozenset()
        self._holders: dict[str, set[str]] = {}
        self._compared: dict[str, int] = {}

    def appears_in(self, text: str, messages: Set[str]) -> bool:
        """Return whether one of these messages contains a text; the set `messages` must not change."""
        if messages is not self._last:
            self._messages += messages - self._known
            self._known |= messages
            self._last = messages
        holders = self._holders.setdefault(text, set())
        holders.update(message for message in self._messages[self._compared.get(text, 0) :] if text in message)
        self._compared[text] = len(self._messages)
        return not holders.isdisjoint(messages)


class JoinedTexts:
    """Texts that a longer one may begin or end with; the results of searches are cached."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._known: set[str] = set()
        self._found: dict[str, list[str]] = {}
        self._compared: dict[str, int] = {}

    def add(self, text: str) -> None:
        """Remember a text, unless it is too short to be recognized."""
        if text not in self._known and len(letters := letters_of(text)) >= SHORTEST:
            self._known.add(text)
            self._texts.append((text, letters))

    def find(self, whole: str) -> list[str]:
        """Find the texts with which `whole`, the letters of a longer one, begins or ends."""
        found = self._found.setdefault(whole, [])
        for text, letters in self._texts[self._compared.get(whole, 0) :]:
            if len(letters) < len(whole) and (whole.startswith(letters) or whole.endswith(letters)):
                found.append(text)
        self._compared[whole] = len(self._texts)
        return found


def parse_literal(words: str) -> Any:
    """Parse a text as JSON or as a Python literal; None if it is neither."""
    for read in (orjson.loads, literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError), catch_warnings():
            simplefilter("ignore")  # `literal_eval` warns of invalid escapes
            return read(words)
    return None
