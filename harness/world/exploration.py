"""The findings of `mock.explore`: variations of a scenario's answers that change its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.core.text.shorten import pluralize, shorten_repr

MAX_SHOWN = 200
"""Characters of a result that are shown."""

Scenario = Callable[[Any], Any | Awaitable[Any]]
"""A function, async or not, of a fresh `Mock`: it scripts that, runs the code under test, and returns what came of it."""


@dataclass(frozen=True, slots=True)
class ChangedResult:
    """A variation that changes the result: the id of its kind, the change in each of its `steps`, the outcome.

    `error` is the exception of the scenario, empty when it returned `result`. `problems` are refusals, losses and unused
    turns. A `lossless` variation tells the client all that was said, so that nothing may come of it.
    """

    variation: str
    lossless: bool
    steps: Sequence[str]
    expected: Any
    result: Any = None
    error: str = ""
    problems: Sequence[str] = ()

    def __str__(self) -> str:
        got = self.error or f"returned {shorten_repr(self.result, MAX_SHOWN)}"
        instead = "" if self.expected is None else f"instead of {shorten_repr(self.expected, MAX_SHOWN)}: "
        lines = [f"{self.variation}: {'; '.join(self.steps)}", f"  {instead}{got}"]
        return "\n".join([*lines, *(f"  {problem}" for problem in self.problems)])


class Exploration(str):
    """How many variations were `tried`, and those that `changed` the result: of each kind the smallest.

    It is the text that tells them, so that `assert not found.changed, found` shows all of it.
    """

    tried: int
    changed: Sequence[ChangedResult]

    def __new__(cls, tried: int, changed: Sequence[ChangedResult]) -> Exploration:
        """Describe what the exploration found."""
        kinds = "1 kind changes" if len(changed) == 1 else f"{len(changed)} kinds change"
        told = "\n".join([f"{pluralize(tried, 'variation')} tried, {kinds} the result", *map(str, changed)])
        found = super().__new__(cls, told)
        found.tried, found.changed = tried, changed
        return found

    @property
    def wrong(self) -> list[ChangedResult]:
        """Those that no client should show: another result without an error, or an error although all was said."""
        return [change for change in self.changed if change.lossless or not change.error]


class Explorer(Protocol):
    """Explores variations for a mock; see `Mock.explore`."""

    def __call__(self, scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        """Run the scenario under variations."""

    def generated(self, scenario: Scenario, strategy: Any, seed: int, examples: int) -> Exploration:
        """Run the scenario under generated scripts."""
