"""The fixtures `openai_client` and `async_openai_client`: SDK clients for the World of a test, or for its cassette."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from harness.core.errors import ConfigError, add_section
from harness.pytest_plugin.cassettes import is_played_as_script
from harness.pytest_plugin.tls import client_verification

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


@pytest.fixture
def openai_client(request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    """An `openai.OpenAI` for the mock, or for the test's cassette; it never retries, so each call is one exchange."""
    openai = _import_openai()
    base_url, api_key, verify = _client_target(request)
    http = openai.DefaultHttpxClient(verify=verify)
    with openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http) as made:
        yield made


@pytest.fixture
def async_openai_client(request: pytest.FixtureRequest) -> Iterator[AsyncOpenAI]:
    """An `openai.AsyncOpenAI` like `openai_client`, for any event loop; it never retries and keeps no connection open.

    A connection that outlives its test's event loop can no longer be closed.
    """
    import asyncio

    openai = _import_openai()
    base_url, api_key, verify = _client_target(request)
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=1000, max_keepalive_connections=0)
    http = openai.DefaultAsyncHttpxClient(limits=limits, verify=verify)
    made = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http)
    yield made
    loop = asyncio.new_event_loop()
    loop.run_until_complete(made.close())
    loop.close()


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    """The same as `openai_client`, under a shorter name that other plugins may use, too."""
    return openai_client


@pytest.fixture
def async_client(async_openai_client: AsyncOpenAI) -> AsyncOpenAI:
    """The same as `async_openai_client`, under a shorter name that other plugins may use, too."""
    return async_openai_client


def _client_target(request: pytest.FixtureRequest) -> tuple[str | None, str, Any]:
    """Return the base URL, the key and the `verify` argument for the client of a test: of the mock or the cassette."""
    if request.node.get_closest_marker("cassette") and not is_played_as_script(request.node):
        return os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY", ""), True
    mock = request.getfixturevalue("openai_mock")
    return mock.base_url, mock.api_key, client_verification(request)


def _import_openai() -> Any:
    from harness.drive.clients import import_openai

    try:
        return import_openai("the fixture")
    except ConfigError as problem:
        pytest.fail(add_section(str(problem), problem.section), pytrace=False)
