"""The tests of endpoints ask a mock of their own, without a network; a desk has an assistant besides."""

from __future__ import annotations

import pytest

from tests.support.in_process import Client
from tests.support.threads import Desk


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def desk() -> Desk:
    return Desk(name="Ann", instructions="Be brief.")
