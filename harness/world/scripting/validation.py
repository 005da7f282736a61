"""Validation of plain data from YAML or JSON: the allowed values, and the location of a mistake."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from harness.core.advice_wording import render_json, word_in_json
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Json
from harness.core.json_values import copy_json
from harness.core.registry import suggest_name
from harness.core.text import show

LocationStep = str | int
"""The name of a member, or the index of an entry."""


class InvalidData(ScriptError):
    """A mistake in plain data; `path` holds the names and indexes that lead to it, outermost first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path: tuple[LocationStep, ...] = ()

    @property
    def location(self) -> str:
        """The location of the mistake: `turns[0][1].message`; empty for the whole data."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return "".join(steps).removeprefix(".")


@contextmanager
def errors_at(*steps: LocationStep) -> Iterator[None]:
    """Add this location to any error raised inside, whatever its type."""
    try:
        yield
    except InvalidData as problem:
        problem.path = (*steps, *problem.path)
        raise
    except Exception as problem:
        said = str(problem) if isinstance(problem, HarnessError) else f"{type(problem).__name__}: {problem}"
        misplaced = InvalidData(word_in_json(said))
        misplaced.path = steps
        raise misplaced from problem


class ValueForm(NamedTuple):
    """The form of a value, as a description and a predicate."""

    description: str
    is_valid: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> Any:
        """Return the value if it is valid; InvalidData if not."""
        if not self.is_valid(value):
            raise InvalidData(f"{name} is {render_json(value)}. Pass {self.description}.")
        return value


BOOLEAN = ValueForm("true or false", lambda value: isinstance(value, bool))
TEXT = ValueForm("a text", lambda value: isinstance(value, str))
TEXT_LIST = ValueForm(
    "a list of texts", lambda value: isinstance(value, list) and all(isinstance(entry, str) for entry in value)
)
OBJECT = ValueForm("an object", lambda value: isinstance(value, dict))
WHOLE_NUMBER = ValueForm(
    "a non-negative integer",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53,
)


FORMS_BY_TYPE: Mapping[str, ValueForm] = {
    "bool": BOOLEAN,
    "str": TEXT,
    "int": WHOLE_NUMBER,
    "int | None": ValueForm("a whole number, or null", lambda value: value is None or WHOLE_NUMBER.is_valid(value)),
    "float": ValueForm(
        "a non-negative number",
        lambda value: WHOLE_NUMBER.is_valid(value) or (isinstance(value, float) and 0 <= value < 1e9),
    ),
    "frozenset[str]": TEXT_LIST,
    "frozenset[str] | None": ValueForm(
        "a list of texts, or null for all", lambda value: value is None or TEXT_LIST.is_valid(value)
    ),
    "RateLimit | None": ValueForm(
        "an object with limit, used and requested, or null", lambda value: value is None or OBJECT.is_valid(value)
    ),
    "Mapping[str, Json] | None": ValueForm(
        "an object of objects, or null",
        lambda value: value is None or (OBJECT.is_valid(value) and all(map(OBJECT.is_valid, value.values()))),
    ),
}
"""The allowed values of a field, by its type annotation."""


def check_members(value: Any, what: str, known: Collection[str]) -> Json:
    """Check that an object has only known members; errors call a member `what`."""
    if not isinstance(value, dict):
        raise InvalidData(f"{render_json(value)} is not an object. Its members: {', '.join(known)}.")
    for name in value:
        if name not in known:
            with errors_at(name):
                raise InvalidData(f"no {what} {show(name)}. {suggest_name(name, known)}")
    return value


def check_named_members(value: Any, what: str) -> Json:
    """Check an object whose members the user names freely."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise InvalidData(f"{what} is {render_json(value)}. Use an object with the names as keys.")
    return value


def check_list(value: Any, what: str) -> list[Any]:
    """Check a list, which needs at least one entry."""
    if not isinstance(value, list) or not value:
        raise InvalidData(f"{what} is {render_json(value)}. Pass a list with at least one entry.")
    return value


def check_json(value: Any) -> Any:
    """Check that a value can be serialized as JSON."""
    try:
        copy_json(value)
    except ScriptError as problem:
        raise InvalidData(str(problem)) from problem
    return value


def check_fields(of: type[Any], value: Any) -> Json:
    """Check the fields of a dataclass by name; InvalidData if one without a default is missing."""
    known: dict[str, Field[Any]] = {field.name: field for field in fields(of)}
    own = check_forms(value, "member", {name: FORMS_BY_TYPE[str(field.type)] for name, field in known.items()})
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in own]:
        raise InvalidData(f"{', '.join(missing)} is missing. Add {', '.join(known)}.")
    return own


def check_forms(members: Any, what: str, forms: Mapping[str, ValueForm]) -> Json:
    """Check that each member of an object is valid; returns the members."""
    own = {**check_members(members, what, forms)}
    for name, value in own.items():
        with errors_at(name):
            forms[name].check(name, value)
    return own
