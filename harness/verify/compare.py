"""Compares an expected with an actual answer, whether they come from a recording, the mock or the live API.

A profile selects what is compared. The one for errors is here, the others are beside their users:
`verify.judging.rerender`, `live.drift`.
"""

import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.core.exchange import Json
from harness.core.json_values import pick
from harness.core.text import show

ABSENT = "absent"
"""Stands for the value on the side that lacks a member."""
_MISSING = object()
MAX_LENGTH = 301
"""The maximum number of characters of a value in a difference."""
ERROR_MEMBERS = ("message", "type", "param", "code")
_OWN_NAMES = re.compile(r" \[Request ID: [^\]]*\]|(?<=azureai://accounts/)[^/]+/projects/[^/]+")
"""Matches what an error message says about its request, or about the account and its project."""
_SUPPORTED_VALUES = re.compile(r"(Supported values are: ).*", re.DOTALL)


class Difference(NamedTuple):
    """A place where two answers differ (`output[0].content`), and the value of each."""

    at: str
    expected: str
    actual: str


class Profile(NamedTuple):
    """Selects which parts of two answers are compared.

    `view` reduces an answer to what is compared. `is_optional` decides whether the expected answer may lack a member of
    the actual one, given the `type` of the object (or its own member name) and the name of the member. `render` formats
    a value for a difference. Lists of different lengths differ as a whole, or if `is_indexed` in their elements.
    """

    view: Callable[[Any], Any] = lambda answer: answer
    is_optional: Callable[[str, str], bool] = lambda holder, name: False
    render: Callable[[Any], str] = lambda value: show(value, MAX_LENGTH)
    is_indexed: bool = False


ERROR = Profile(is_optional=lambda holder, name: True, render=str)
"""For errors, only the members of the expected one are compared."""


def compare(expected: Any, actual: Any, profile: Profile, holder: str = "") -> Iterator[Difference]:
    """Yield every place where two answers differ, in the order of the expected one; `holder` names their kind."""
    return _compare_values(profile.view(expected), profile.view(actual), profile, holder, "")


def _compare_values(expected: Any, actual: Any, profile: Profile, holder: str, at: str) -> Iterator[Difference]:
    sides = expected, actual
    if isinstance(expected, dict) and isinstance(actual, dict):
        holder = actual["type"] if isinstance(actual.get("type"), str) else holder
        for name in {**expected, **actual}:
            if name in expected or not profile.is_optional(holder, name):
                left, right = (side.get(name, _MISSING) for side in sides)
                yield from _compare_values(left, right, profile, name, f"{at}.{name}" if at else name)
    elif all(isinstance(side, list) for side in sides) and (profile.is_indexed or len(expected) == len(actual)):
        for index, (left, right) in enumerate(zip_longest(expected, actual, fillvalue=_MISSING)):
            yield from _compare_values(left, right, profile, holder, f"{at}[{index}]")
    # In Python, but not in JSON, True equals 1.
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield Difference(at, *(ABSENT if side is _MISSING else profile.render(side) for side in sides))


def differing_error_members(expected: Json, actual: Json) -> list[str]:
    """List the members of an error that differ; `list` if only the supported values in the message differ.

    Request ids and the names of accounts and projects in the message are ignored.
    """
    # A report rarely has the whole error: only what it published is compared.
    answered = {name: actual.get(name) for name in expected}
    names = [difference.at for difference in compare(expected, answered, ERROR)]
    if names != ["message"]:
        return names
    said = [_OWN_NAMES.sub("", str(error["message"])) for error in (expected, answered)]
    if said[0] == said[1]:
        return []
    # The list of values grows with each release of the API; the rest of the message stays.
    alike = [_SUPPORTED_VALUES.sub(r"\1", message) for message in said]
    return ["list"] if alike[0] == alike[1] else names


def select_error_members(error: Any) -> Json:
    """Select the members of an error object that clients of the API read; empty for anything else."""
    return pick(error, *ERROR_MEMBERS) if isinstance(error, dict) else {}


def describe_kind(value: Any) -> str:
    """Name the JSON type of a value: `a number`, `null`."""
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object")
