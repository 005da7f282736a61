"""Journals are read from a mock of many keys, asked without a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.core.exchange import Json, ReceivedRequest
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.tools import functions, mcp_tool

TOOLS: list[Json] = [*functions("transfer_to_ops", "deploy", "f"), mcp_tool("prod")]


@pytest.fixture
def api() -> MockApi:
    return MockApi(keys=())


@pytest.fixture
def world(api: MockApi) -> Mock:
    return api.open("sk-test")


@pytest.fixture
def ask(api: MockApi) -> Callable[..., Any]:
    """Send what is given to the mock, as `input` of a request for a response, else as the body; returns the answer."""

    def ask(given: Any = "hi", call: str = "POST /v1/responses", **members: Any) -> Any:
        method, path = call.split()
        asked = path == "/v1/responses"
        body = {"model": "gpt-4.1", "input": given, "tools": TOOLS, **members} if asked else given
        raw = b"" if method == "GET" else json.dumps(body).encode()
        sent = {"authorization": "Bearer sk-test", "openai-beta": "assistants=v2"}
        return api.handle(ReceivedRequest(method, path, sent, raw=raw)).body

    return ask
