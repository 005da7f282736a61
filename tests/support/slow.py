"""What of a table of cases runs in the test command, and what only with `-m slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def slow_except(kept: Iterable[int], cases: Iterable[Any]) -> list[ParameterSet]:
    """The cases for `parametrize`, each `slow` but for those at these places: one of each kind is enough every time."""
    quick = set(kept)
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if at in quick else pytest.mark.slow)
        for at, case in enumerate(cases)
    ]
