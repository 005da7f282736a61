"""The tests of Assistants ask a mock of their own, without a network."""

from __future__ import annotations

import pytest

from tests.support.threads import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(name="Ann", instructions="Be brief.")
