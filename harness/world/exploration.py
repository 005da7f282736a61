"""The result of `mock.explore`: the variations of a scenario's answers that change its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.core.text import pluralize, show

MAX_SHOWN = 200
"""The maximum length of a result when shown."""

Scenario = Callable[[Any], Any | Awaitable[Any]]
"""A function of a fresh `Mock`, async or not: it scripts the mock, runs the code under test and returns its result."""


@dataclass(frozen=True, slots=True)
class ChangedResult:
    """A variation that changes the result: the id of its kind, the change in each of its `steps`, the outcome.

    `error` is the exception of the scenario, empty if it returned `result`. `problems` are refusals, losses and unused
    turns. A `lossless` variation sends the client everything that was said, so it should change nothing.
    """

    variation: str
    lossless: bool
    steps: Sequence[str]
    expected: Any
    result: Any = None
    error: str = ""
    problems: Sequence[str] = ()

    def __str__(self) -> str:
        got = self.error or f"returned {show(self.result, MAX_SHOWN)}"
        instead = "" if self.expected is None else f"instead of {show(self.expected, MAX_SHOWN)}: "
        lines = [f"{self.variation}: {'; '.join(self.steps)}", f"  {instead}{got}"]
        return "\n".join([*lines, *(f"  {problem}" for problem in self.problems)])


class Exploration(str):
    """How many variations were `tried`, and those that `changed` the result: the smallest of each kind.

    As a string it is the report of these, so that `assert not found.changed, found` shows it.
    """

    tried: int
    changed: Sequence[ChangedResult]

    def __new__(cls, tried: int, changed: Sequence[ChangedResult]) -> Exploration:
        """Describe what the exploration found."""
        kinds = "1 kind changes" if len(changed) == 1 else f"{len(changed)} kinds change"
        text = "\n".join([f"{pluralize(tried, 'variation')} tried, {kinds} the result", *map(str, changed)])
        found = super().__new__(cls, text)
        found.tried, found.changed = tried, changed
        return found

    @property
    def wrong(self) -> list[ChangedResult]:
        """The changes that no client should show: another result without error, or an error after a lossless change."""
        return [change for change in self.changed if change.lossless or not change.error]


class Explorer(Protocol):
    """Explores variations for a mock; see `Mock.explore`."""

    def __call__(self, scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        """Run the scenario under variations of its answers."""

    def generated(self, scenario: Scenario, strategy: Any, seed: int, examples: int) -> Exploration:
        """Run the scenario under generated scripts."""
