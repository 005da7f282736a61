"""The tests of the page ask a mock of their own, and see the case that shows it."""

import pytest

from tests.support.shown import Asked


@pytest.fixture
def asked() -> Asked:
    return Asked()
