"""Shows the path of agents and calls below a failed comparison of `mock.calls`, `mock.agents` or `mock.approvals`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    left: object, right: object
) -> Generator[None, list[list[str] | None], list[list[str] | None]]:
    """Append the path to pytest's explanation of the difference."""
    explained = yield
    path = _path_of(left) or _path_of(right)
    if path is None:
        return explained
    return [[*lines, "", f"the path: {path}"] if lines else lines for lines in explained]


def _path_of(value: object) -> Any:
    """Return the path behind a list from `mock`; nothing is imported for other comparisons."""
    module = sys.modules.get("harness.analysis.path")
    return value.path if module and isinstance(value, module.OnPath) else None
