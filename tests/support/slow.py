"""What of a table of cases runs in the test command, and what only with `-m slow`."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def slow_except(kept: Iterable[int], cases: Iterable[Any]) -> list[ParameterSet]:
    """The cases for `parametrize`, each `slow` but for those at these places: one of each kind is enough every time."""
    quick = frozenset(kept)
    return [_as_parameters(case, slow=place not in quick) for place, case in enumerate(cases)]


def slow_except_every(step: int, cases: Iterable[Any]) -> list[ParameterSet]:
    """The cases of a long table for `parametrize`: the first and then one of so many every time, the others `slow`."""
    return [_as_parameters(case, slow=bool(place % step)) for place, case in enumerate(cases)]


def _as_parameters(case: Any, *, slow: bool) -> ParameterSet:
    if not isinstance(case, ParameterSet):
        case = pytest.param(*(case if type(case) is tuple else (case,)))
    return case._replace(marks=(*case.marks, pytest.mark.slow)) if slow else case
