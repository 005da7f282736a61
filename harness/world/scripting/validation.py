"""Plain data that somebody gives, from YAML or JSON: what a value may be, and where in it a mistake is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NamedTuple

import orjson

from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json

Step = str | int
"""The name of a member, or the place of an entry."""


class Misplaced(ScriptError):
    """A mistake in plain data; `at` are the names and places that lead to it, from the outside in."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.at: tuple[Step, ...] = ()

    @property
    def place(self) -> str:
        """Where it is: `turns[0][1].message`; empty for the whole."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.at)
        return "".join(steps).removeprefix(".")


@contextmanager
def at(*steps: Step) -> Iterator[None]:
    """What goes wrong inside is a mistake at this place of the data, whoever finds it."""
    try:
        yield
    except Misplaced as problem:
        problem.at = (*steps, *problem.at)
        raise
    except Exception as problem:
        said = str(problem) if isinstance(problem, HarnessError) else f"{type(problem).__name__}: {problem}"
        misplaced = Misplaced(said)
        misplaced.at = steps
        raise misplaced from problem


class Form(NamedTuple):
    """What a value may be, in words and as a test."""

    says: str
    fits: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> Any:
        """The value; a Misplaced when it is something else."""
        if not self.fits(value):
            raise Misplaced(f"{name} is {value!r}. Give {self.says}.")
        return value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


FLAG = Form("true or false", lambda value: isinstance(value, bool))
TEXT = Form("a text", lambda value: isinstance(value, str))
TEXTS = Form("a list of texts", _is_texts)
OBJECT = Form("an object", lambda value: isinstance(value, dict))
WHOLE = Form("a whole number from 0 on", _is_whole)


def members(value: Any, what: str, known: Collection[str]) -> Json:
    """An object of which every member is known; `what` says what they are."""
    if not isinstance(value, dict):
        raise Misplaced(f"{value!r} stands where names are expected: {', '.join(known)}.")
    for name in value:
        if name not in known:
            with at(name):
                raise Misplaced(f"no {what} {name!r}. {nearest(name, known)}")
    return value


def by_name(value: Any, what: str) -> Json:
    """An object whose members have names of the user's own."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise Misplaced(f"{what} is {value!r}. Give an object: by each name, a text, what belongs to it.")
    return value


def listed(value: Any, what: str) -> list[Any]:
    """A list with at least one entry."""
    if not isinstance(value, list) or not value:
        raise Misplaced(f"{what} is {value!r}. Give a list with at least one entry.")
    return value


def plain(value: Any) -> Any:
    """A value that JSON can say."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as problem:
        raise Misplaced(f"{problem}. Give plain JSON values; a str must be valid Unicode.") from problem
    return value


def nearest(name: object, known: Collection[str]) -> str:
    """`Did you mean 'x'?`, or all names when none is near."""
    near = get_close_matches(str(name), known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
