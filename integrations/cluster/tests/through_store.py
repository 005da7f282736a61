"""A plugin of pytest: what the server of the fixture `mock` gets goes through a store, and the answers go into a file.

`HARNESS_TEST_STORE` is the URL of a Redis server, empty for memory; `HARNESS_TEST_ANSWERS` names the file.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from responses_harness_cluster.redis_log import RedisLog
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.server_record import ServerRecord
from responses_harness_cluster.shared_app import SharedApp

import harness.server.http_server
from harness.core.exchange import Exchange
from harness.server.mock_api import MockApi

SAID: dict[str, list[Any]] = {}


class StoredApp(SharedApp):
    """The app of the fixture's server, on a store."""

    def __init__(self, api: MockApi, access: Any) -> None:
        api.__class__ = ReplicatedApi
        assert isinstance(api, ReplicatedApi)
        api.failed_unlogged = {}
        log = RedisLog(os.environ["HARNESS_TEST_STORE"], f"pytest-{os.getpid()}", ServerRecord("0", "0", {}), 600)
        super().__init__(api, log, access)


def pytest_configure() -> None:
    if os.environ.get("HARNESS_TEST_STORE"):
        harness.server.http_server.App = StoredApp  # type: ignore[misc]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    result = yield
    if (mock := getattr(item, "funcargs", {}).get("mock")) is not None:
        SAID[item.nodeid] = [_shown(exchange) for exchange in mock.exchanges]
    return result


def _shown(exchange: Exchange) -> Any:
    answer = exchange.answer
    body = answer.body.decode("latin-1") if isinstance(answer.body, bytes) else answer.body
    return [
        exchange.number,
        exchange.request.path,
        answer.status,
        dict(answer.headers),
        body,
        None if answer.events is None else list(answer.events),
    ]


def pytest_unconfigure() -> None:
    Path(os.environ["HARNESS_TEST_ANSWERS"]).write_text(json.dumps(SAID))
