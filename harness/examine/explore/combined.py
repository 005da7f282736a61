"""Several steps at once: hypothesis chooses them, and shrinks what fails to the fewest and smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.core.errors import ConfigError
from harness.examine.explore.variations import Step

T = TypeVar("T")
MOST_AT_ONCE = 4


class _ResultChangedError(Exception):
    """These steps change the result."""


def find_combined(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], T | None], seed: int, examples: int
) -> tuple[Sequence[Step], T] | None:
    """The smallest of so many combinations of steps that fails, and what came of it; None when none does."""
    try:
        from hypothesis import HealthCheck, Phase, given, settings, strategies
        from hypothesis import seed as seeded
    except ImportError as problem:
        raise ConfigError('explore(combined=…) needs hypothesis: pip install "responses-harness[explore]"') from problem
    if len(steps) < 2:
        return None
    found: list[tuple[Sequence[Step], T]] = []
    numbers = strategies.sampled_from(range(len(steps)))

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.lists(numbers, min_size=2, max_size=MOST_AT_ONCE, unique=True))
    def passes(chosen: list[int]) -> None:
        tried = [steps[number] for number in chosen]
        if (ran := fails(tried)) is not None:
            found.append((tried, ran))
            raise _ResultChangedError

    try:
        passes()
    except _ResultChangedError:  # hypothesis runs the smallest last
        return found[-1]
    return None
