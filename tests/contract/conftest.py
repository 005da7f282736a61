"""Rules that a test registers are gone after it."""

from collections.abc import Iterator

import pytest

from harness.contract.rule import RULES
from harness.contract.rule_plan import forget_plans


@pytest.fixture
def registry() -> Iterator[None]:
    """Remove whatever a test registers after it."""
    before = dict(RULES)
    forget_plans()
    yield
    RULES.clear()
    RULES.update(before)
    forget_plans()
