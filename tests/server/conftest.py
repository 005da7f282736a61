"""A server of a mock that answers everything and keeps a short journal."""

from collections.abc import Iterator

import pytest

from harness.core.limits import Limits
from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=lambda _: [message("ok")], limits=Limits(exchanges=50))) as running:
        yield running
