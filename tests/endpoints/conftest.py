"""The tests of endpoints ask a mock of their own, without a network."""

from __future__ import annotations

import pytest

from tests.support.in_process import Client


@pytest.fixture
def client() -> Client:
    return Client()
