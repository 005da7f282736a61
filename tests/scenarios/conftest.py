"""Every test here runs a real client, and everything the mock answered it is judged by the SDK's own models."""

from collections.abc import Iterator

import pytest

from harness.world.mock import Mock
from tests.support.clients.strict import faults


@pytest.fixture(autouse=True)
def _every_answer_conforms(mock: Mock) -> Iterator[None]:
    yield
    assert [fault for exchange in mock.exchanges for fault in faults(exchange)] == []
