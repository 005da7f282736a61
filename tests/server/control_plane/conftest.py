"""A server of a mock that answers everything."""

from collections.abc import Iterator

import pytest

from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi


@pytest.fixture
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=lambda _: [message("ok")])) as running:
        yield running
