"""The forms of keys by issuer, from the rules that the project gitleaks maintains."""

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
"""A word that is long enough to be a key."""
_LEAD = 120
"""Characters before such a word in which the name of the issuer may occur."""
_TAIL = 4
"""Characters after it that decide whether the key ends there."""
_LONGEST_KEY = 1200
"""Characters of the longest key; a longer word is searched from both ends."""
_WINDOW = 2000
"""Characters of a text that are searched together: in more of them too many keywords occur by chance."""
_GRAM = 3


@dataclass(frozen=True, slots=True)
class IssuerRule:
    """The form of a key: a pattern for `re`, and lower-case keywords, one of which is in every text with such a key."""

    id: str
    pattern: str
    keywords: tuple[str, ...]
    beside: bool = False
    """Whether the key is only recognized by the name of the issuer before it."""
    group: int = 0
    """The number of the group that is the key; with 0 the first non-empty one, or the whole match without groups."""
    entropy: float = 0.0
    """Bits per character that a match must exceed to be a key."""
    allowed: tuple[str, ...] = ()
    """Patterns of matches that are no keys."""

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each key in a part of a text."""
        for match in _compile(self.pattern).finditer(text, start, end):
            group = self.group or next((number for number, value in enumerate(match.groups(), 1) if value), 0)
            if self._is_key(match[group]):
                yield match.span(group)

    def _is_key(self, value: str) -> bool:
        return _entropy(value) > self.entropy and not any(_compile(pattern).match(value) for pattern in self.allowed)


def find_keys(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each key in a text, in order, without those that begin inside another."""
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
    """Return whether the value of a member is a key of the issuer that the member's name contains."""
    rules = _rules_beside(name) if len(name) <= _LEAD else ()
    text = f'{name}="{value}"' if rules else ""
    span = (len(text) - 1 - len(value), len(text) - 1)
    return any(span in rule.spans(text, 0, len(text)) for rule in rules)


@lru_cache(4096)
def _rules_beside(name: str) -> tuple[IssuerRule, ...]:
    return tuple(rule for rule in _candidates(name.lower()) if rule.beside)


def _find_windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that may contain a key: long words, and the text before them."""
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
    short, by_gram = _index()
    grams = {lowered[start : start + _GRAM] for start in range(len(lowered) - _GRAM + 1)}
    near = chain(short, *(by_gram[gram] for gram in by_gram.keys() & grams))
    return list({rule.id: rule for keyword, rule in near if keyword in lowered}.values())


_Keywords = list[tuple[str, IssuerRule]]


@cache
def _index() -> tuple[_Keywords, Mapping[str, _Keywords]]:
    """Index rules by keyword: keywords of two characters in a list, the others by their first three characters."""
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
    """Return the Shannon entropy of a text in bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
