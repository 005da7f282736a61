"""A live API over TLS, a recorder in front of it, and the HTTP libraries whose traffic is recorded in process."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.servers.live_server import Front, over_tls, recorded


@pytest.fixture(scope="module")
def mock() -> MockApi:
    return MockApi()


@pytest.fixture(scope="module")
def live(mock: MockApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The live API, over TLS."""
    with over_tls(mock, tmp_path_factory) as origin:
        yield origin


@pytest.fixture
def world(mock: MockApi) -> Iterator[Mock]:
    """The World of the key that the tests send."""
    yield mock.open("sk-live")
    mock.close("sk-live")


@pytest.fixture
def front(live: str, world: Mock) -> Iterator[Front]:
    """A recorder in front of the live API."""
    with recorded(live) as recorder:
        yield recorder


@pytest.fixture(params=["httpx", "httpx2"])
def http(request: pytest.FixtureRequest) -> Any:
    """Each HTTP library in turn."""
    return importlib.import_module(request.param)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The cassette of a test."""
    return tmp_path / "it.yaml"
