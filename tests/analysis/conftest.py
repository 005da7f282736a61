"""Journals are read from a mock of many keys, asked without a network."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.core.exchange import Json
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support import in_process
from tests.support.tools import functions, mcp_tool

TOOLS: list[Json] = [*functions("transfer_to_ops", "deploy", "f"), mcp_tool("prod")]


@pytest.fixture
def api() -> MockApi:
    return MockApi(keys=())


@pytest.fixture
def world(api: MockApi) -> Mock:
    return api.open(in_process.KEY)


@pytest.fixture
def ask(api: MockApi) -> Callable[..., Any]:
    """Send what is given to the mock, as `input` of a request for a response, else as the body; returns the answer."""

    def ask(input: Any = "hi", call: str = "POST /v1/responses", **members: Any) -> Any:
        if call == "POST /v1/responses":
            return in_process.ask(api, input, **{"tools": TOOLS, **members}).body
        return in_process.send(api, call, input, {"openai-beta": "assistants=v2"}).body

    return ask
