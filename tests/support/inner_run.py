"""A run of pytest inside a test, and what it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class InnerRun:
    """What came of a run; all else is as `pytest.RunResult` has it."""

    def __init__(self, result: pytest.RunResult) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)

    def shows(self, *lines: str, **outcomes: int) -> InnerRun:
        """Assert the outcomes, if any are given, and that the output has these lines, in this order."""
        __tracebackhide__ = True
        if outcomes:
            self._result.assert_outcomes(**outcomes)
        self._result.stdout.fnmatch_lines(lines)
        return self

    def exits(self, code: pytest.ExitCode) -> InnerRun:
        """Assert how the run ended."""
        __tracebackhide__ = True
        assert self._result.ret == code
        return self

    def hides(self, *lines: str) -> InnerRun:
        """Assert that the output has no line like one of these."""
        __tracebackhide__ = True
        for line in lines:
            self._result.stdout.no_fnmatch_line(line)
        return self


Run = Callable[..., InnerRun]
"""Runs tests given as source."""
