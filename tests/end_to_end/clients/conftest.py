"""Every test here runs a real client, and everything the mock answered it is judged by the SDK's own models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.world.mock import Mock
from tests.support.strict import faults


@pytest.fixture(autouse=True)
def _every_answer_conforms(mock: Mock) -> Iterator[None]:
    yield
    assert [fault for exchange in mock.exchanges for fault in faults(exchange)] == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let sockets be collected late: clients of others keep some open, and whichever test runs then would fail for it."""
    late = pytest.mark.filterwarnings("ignore:.*<socket:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(late)
