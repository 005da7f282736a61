"""Finds the keys of issuers in a text, and beside the name of a member, by the rules in `rules.json`."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

RULES_FILE = Path(__file__).with_name("rules.json")
_WORD = re.compile(r"[^\s\"'`<>,;&(){}\[\]\\]{14,}")
"""A word that is long enough for a key."""
_LEAD = 120
"""Characters before such a word in which the name of the issuer may stand."""
_TAIL = 4
"""Characters after it that decide whether it ends there."""
_LONGEST_KEY = 1200
"""Characters of the longest key: a longer word is looked at from both ends."""
_WINDOW = 2000
"""Characters of a part of a text that is searched at once: in more of it too many keywords stand by chance."""
_GRAM = 3


@dataclass(frozen=True, slots=True)
class IssuerRule:
    """The form of a key: a pattern for `re`, and words in lower case of which a text with such a key has one."""

    id: str
    pattern: str
    keywords: tuple[str, ...]
    beside: bool = False
    """Whether the key is told by the name of the issuer before it."""
    group: int = 0
    """The number of the group that is the key; the first that is not empty if 0, all of it without groups."""
    entropy: float = 0.0
    """Bits of a character, above which a text of this form is a key."""
    allowed: tuple[str, ...] = ()
    """Patterns of texts of this form that are none."""

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each key in a part of a text."""
        for match in _compile(self.pattern).finditer(text, start, end):
            group = self.group or next((number for number, value in enumerate(match.groups(), 1) if value), 0)
            if self._is_key(match[group]):
                yield match.span(group)

    def _is_key(self, value: str) -> bool:
        return _entropy(value) > self.entropy and not any(_compile(pattern).match(value) for pattern in self.allowed)


def find_keys(text: str) -> list[tuple[int, int]]:
    """Find the start and end of each key in a text, in order, without those that begin within another."""
    spans = set[tuple[int, int]]()
    for start, end in _find_windows(text):
        for rule in _candidates(text[start:end].lower()):
            spans.update(rule.spans(text, start, end))
    apart, last = list[tuple[int, int]](), 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last:
            apart.append((start, end))
            last = end
    return apart


def is_key_of(name: str, value: str) -> bool:
    """Return whether the value of a member is a key of the issuer whose name is in the member's."""
    rules = _rules_beside(name) if len(name) <= _LEAD else ()
    text = f'{name}="{value}"' if rules else ""
    span = (len(text) - 1 - len(value), len(text) - 1)
    return any(span in rule.spans(text, 0, len(text)) for rule in rules)


@lru_cache(4096)
def _rules_beside(name: str) -> tuple[IssuerRule, ...]:
    return tuple(rule for rule in _candidates(name.lower()) if rule.beside)


def _find_windows(text: str) -> Iterator[tuple[int, int]]:
    """Find the parts of a text in which a key may stand: long words, and what is before them."""
    start = end = 0
    for word in _WORD.finditer(text):
        for first, last in _both_ends(*word.span()):
            if first - _LEAD > end or first - start > _WINDOW:
                if end:
                    yield start, end + _TAIL
                start = max(0, first - _LEAD)
            end = last
    if end:
        yield start, end + _TAIL


def _both_ends(start: int, end: int) -> Iterable[tuple[int, int]]:
    if end - start <= 2 * _LONGEST_KEY:
        return ((start, end),)
    return ((start, start + _LONGEST_KEY), (end - _LONGEST_KEY, end))


def _candidates(lowered: str) -> Collection[IssuerRule]:
    """Find the rules with a keyword in a text in lower case."""
    short, by_gram = _index()
    grams = {lowered[start : start + _GRAM] for start in range(len(lowered) - _GRAM + 1)}
    near = chain(short, *(by_gram[gram] for gram in by_gram.keys() & grams))
    return list({rule.id: rule for keyword, rule in near if keyword in lowered}.values())


_Keywords = list[tuple[str, IssuerRule]]


@cache
def _index() -> tuple[_Keywords, Mapping[str, _Keywords]]:
    """Index the keywords with their rules: those of two characters, and the others by their first three."""
    short, by_gram = _Keywords(), dict[str, _Keywords]()
    for rule in issuer_rules():
        for keyword in rule.keywords:
            place = short if len(keyword) < _GRAM else by_gram.setdefault(keyword[:_GRAM], [])
            place.append((keyword, rule))
    return short, by_gram


@cache
def issuer_rules() -> tuple[IssuerRule, ...]:
    """Load all rules."""
    return tuple(_as_rule(entry) for entry in json.loads(RULES_FILE.read_text())["rules"])


def _as_rule(entry: Mapping[str, Any]) -> IssuerRule:
    members: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    return IssuerRule(**members)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _entropy(text: str) -> float:
    """Shannon's entropy of a text, in bits a character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
