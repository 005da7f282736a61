"""What texts, numbers and optional members of a made-up instance are filled with.

Numbers and words are those of what the user says, where they fit, then words of a short list. A member for a query is all
of it, and what says that all is well is true, so that clients that ask until it is come to an end. All follows from that
text and the names of the members, so that the same request gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from harness.core.exchange import Json

WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "indigo",
    "juniper",
    "lagoon",
    "maple",
)
MAX_LENGTH = 200
"""Characters of a text that is made of words."""
MAX_SAID = 10_000
"""Characters of what the user says that are looked at."""
MAX_WORDS = 1_000
"""Words of a text at most."""
OPTIONAL_EVERY = 3
"""One of so many optional members is filled."""

QUERY_MEMBERS = frozenset(("input", "message", "prompt", "query", "question", "request", "user_input", "user_query"))
"""Members that are for what the user says, as clients name them."""
_WELL = re.compile(
    r"(?:^|_|is_)(?:accepted|acceptable|approved|complete|completed|correct|done|finished|good|ok|passed|passes|satisfied|"
    r"success|successful|valid|verified)(?:_|$)"
)
"""The names of members that say that all is well."""
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,6})?(?![\w.]*\w)")
_QUOTED = re.compile(r"(?<!\w)[\"'“`]([^\"'“”`\n]{1,60})[\"'”`](?!\w)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,40}")
_WORDS_ASKED = re.compile(r"\b(\d{1,4})[ -]words?\b")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)*")


class Filling:
    """The values for one instance; the numbers of the text are taken one after the other."""

    def __init__(self, said: str) -> None:
        text = said[:MAX_SAID]
        self._said = text.casefold()
        self._query = text.strip() if len(said) <= MAX_SAID else ""
        self._seed = crc32(text.encode("utf-8", "surrogatepass"))
        self._numbers = [float(number) for number in _NUMBER.findall(text)]
        self._quoted, self._named = _QUOTED.findall(text), _NAME.findall(text)
        self._member = ""

    def enter(self, member: str) -> None:
        """Say which member the next values are for."""
        self._member = member

    def object(self) -> dict[str, str]:
        """An object with the members that the text names in quotes, each with a word."""
        names = [name for name in (*self._quoted, *self._named) if _IDENTIFIER.fullmatch(name)]
        return {name: WORDS[(self._seed + _hash(name)) % len(WORDS)] for name in dict.fromkeys(names[:20])}

    def choose(self, optional: Iterable[str]) -> list[str]:
        """The optional members that are filled, in order of their names."""
        return [name for name in sorted(optional) if not (self._seed ^ _hash(name)) % OPTIONAL_EVERY]

    def order(self, values: Sequence[Any]) -> Sequence[Any]:
        """Values to choose from, first those that the user speaks of."""
        spoken_of = [each for each in values[:100] if isinstance(each, str) and each and each.casefold() in self._said]
        return [*spoken_of, *values] if spoken_of else values

    def candidates(self, schema: Json) -> Iterator[Any]:
        """The values for a scalar, the best first; none may fit."""
        kind = schema["type"]
        if kind == "boolean" and _WELL.search(self._member):
            yield True
        elif kind in ("integer", "number"):
            yield from self._take_numbers(kind)
        elif kind == "string" and "format" not in schema:
            yield from self._texts(int(schema.get("minLength", 0)), int(schema.get("maxLength", MAX_LENGTH)))

    def _take_numbers(self, kind: str) -> Iterator[float]:
        for number in list(self._numbers[:1]):
            if number.is_integer() or kind == "number":
                self._numbers.pop(0)
                yield int(number) if number.is_integer() else number

    def _texts(self, least: int, most: int) -> Iterator[str]:
        start = (self._seed + _hash(self._member)) % len(WORDS)
        words = (*WORDS[start:], *WORDS[:start])
        query = [self._query] if self._query and self._member in QUERY_MEMBERS else []
        phrases = (*self._quoted, *query, *self._named)
        yield from (phrase for phrase in phrases if least <= len(phrase) <= most)
        if least <= MAX_LENGTH:
            longer = " ".join(words * (1 + least // 50))
            yield from (word for word in words if least <= len(word) <= most)
            yield longer[: max(least, min(most, len(words[0])))]


def make_text(said: str) -> str:
    """A text of as many words as the user asks for; empty where none are."""
    asked = _WORDS_ASKED.search(said, 0, MAX_SAID) if "word" in said else None
    number = min(int(asked[1]), MAX_WORDS) if asked else 0
    return " ".join(WORDS[place % len(WORDS)] for place in range(number)).capitalize()


def _hash(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass"))
