"""hypothesis chooses several steps at once, or whole scripts, and shrinks what fails to the smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from harness.core.extras import missing_extra
from harness.examine.explore.variations import Step

T = TypeVar("T")
MOST_AT_ONCE = 4


class _ResultChangedError(Exception):
    """What was tried changes the result."""


def find_combined(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], T | None], seed: int, examples: int
) -> tuple[Sequence[Step], T] | None:
    """Find the smallest of so many combinations of steps that fails, and its result; None when all pass."""
    try:
        from hypothesis import strategies
    except ImportError as problem:
        raise missing_extra("explore(combined=…)", "hypothesis", "explore") from problem
    if len(steps) < 2:
        return None
    numbers = strategies.lists(
        strategies.sampled_from(range(len(steps))), min_size=2, max_size=MOST_AT_ONCE, unique=True
    )
    combinations = numbers.map(lambda chosen: [steps[number] for number in chosen])
    return find_generated(combinations, fails, seed, examples)


def find_generated(strategy: Any, fails: Callable[[Any], T | None], seed: int, examples: int) -> tuple[Any, T] | None:
    """Find the smallest of so many examples of a strategy that fails, and its result; None when all pass."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[tuple[Any, T]] = []

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def passes(tried: Any) -> None:
        if (ran := fails(tried)) is not None:
            found.append((tried, ran))
            raise _ResultChangedError

    try:
        passes()
    except _ResultChangedError:  # hypothesis runs the smallest last
        return found[-1]
    return None
