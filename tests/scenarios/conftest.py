"""Every test here runs a real client, and everything the mock answered it is judged by the SDK's own models."""

from collections.abc import Iterator

import pytest

from harness.world.world import World
from tests.support.strict import faults


@pytest.fixture(autouse=True)
def _every_answer_is_whole(mock: World) -> Iterator[None]:
    yield
    assert [fault for exchange in mock.exchanges for fault in faults(exchange)] == []
