"""What tests of faults share: a client of a mock of its own."""

from __future__ import annotations

import pytest

from tests.support.in_process import Client


@pytest.fixture
def client() -> Client:
    return Client()
