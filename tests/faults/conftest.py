"""What tests of faults share: a client of a mock of its own."""

import pytest

from tests.support.in_process import Client


@pytest.fixture
def client() -> Client:
    return Client()
