"""The seed of tests that try something else each day: `SEED=739580 pytest …` repeats the day that a failure names."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hypothesis import seed, settings

TODAY = int(os.environ.get("SEED") or datetime.now(UTC).toordinal())
REPEAT = f"the seed is {TODAY}: repeat it with SEED={TODAY}"
"""What an assertion says when it fails."""


def of_today(examples: settings) -> Callable[[Any], Any]:
    """Let Hypothesis draw with the seed of the day; it prints that of an example that fails."""
    return lambda test: seed(TODAY)(settings(examples, derandomize=False, database=None, print_blob=True)(test))
