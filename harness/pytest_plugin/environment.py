"""The World of a test, its server, and the environment that points the clients of the code under test at it.

The variables are set while a test uses `mock`; with `harness_env = session` they are also set before collection, so that a
client made at import finds the mock. One key then leads to the World of whichever test is running.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from harness.core.errors import add_section
from harness.pytest_plugin import marks
from harness.pytest_plugin.client_watch import forget_streams, note_caught_errors
from harness.pytest_plugin.clients import tls_server
from harness.pytest_plugin.late_requests import late_requests
from harness.pytest_plugin.options import (
    ENV_INI,
    ENV_VALUES,
    SERVER_STASH_KEY,
    SESSION_ENV,
    WORLD_STASH_KEY,
    session_server,
)

if TYPE_CHECKING:
    from harness.drive.coding_agents import CodingAgent
    from harness.server.http_server import Server
    from harness.server.mock_api import MockApi
    from harness.world.exploration import Exploration, Scenario
    from harness.world.mock import Mock
    from harness.world.world import World

SESSION_KEY = "sk-harness-session"
"""The API key in the environment of a whole run."""

_NO_WORLD = (
    f"no test uses `mock` now, and the key of `{SESSION_ENV}` selects the World of the running test. Request the fixture "
    "`mock` in the test that sends the request, or send none at import."
)


def set_session_environment(config: pytest.Config) -> None:
    """Set the environment for a whole run; UsageError for an invalid option."""
    chosen = config.getini(ENV_INI)
    if chosen not in ENV_VALUES:
        told = f"{ENV_INI} = {chosen}: use one of {', '.join(ENV_VALUES)}."
        raise pytest.UsageError(add_section(told, "options-and-files"))
    if session_server(config):
        return
    from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
    from harness.server.on_demand import OnDemandServer

    server = config.stash[SERVER_STASH_KEY] = OnDemandServer(partial(_make_session_api, config))
    config.add_cleanup(server.stop)
    monkeypatch = pytest.MonkeyPatch()
    config.add_cleanup(monkeypatch.undo)
    variables = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": SESSION_KEY, SECRET_VARIABLE: DEFAULT_SECRET}
    _set_variables(variables, monkeypatch)


def _make_session_api(config: pytest.Config) -> MockApi:
    from harness.server.mock_api import MockApi

    return late_requests(config).watch(MockApi(keys=(), reserved={SESSION_KEY: _NO_WORLD}))


def set_environment(
    mock: Mock, config: pytest.Config, monkeypatch: pytest.MonkeyPatch, trusting: Mapping[str, str]
) -> None:
    """Point OpenAI clients made while the test runs at its World; the variables `trusting` make them trust it.

    With a session environment the session's key is kept: a client made in one test may be used in the next.
    """
    from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
    from harness.server.client_environment import client_variables

    key = SESSION_KEY if session_server(config) else mock.api_key
    _set_variables({**client_variables(mock, key), SECRET_VARIABLE: DEFAULT_SECRET, **trusting}, monkeypatch)


def _set_variables(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.api.http.dialects import PROVIDER_HOSTS
    from harness.server.client_environment import environment_changes

    # Behind a proxy the guard would not see that a request is meant for a provider.
    for variable, value in environment_changes(variables, os.environ, PROVIDER_HOSTS).items():
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)


def start_server(config: pytest.Config) -> Server:
    """Start the server of this process, or return the one of the whole run."""
    from harness.core.limits import paused_collection

    with paused_collection():
        from harness.server.http_server import serve_in_thread
        from harness.server.mock_api import MockApi
    if early := session_server(config):
        return early.start()
    late = late_requests(config)
    return late.until_end.enter_context(serve_in_thread(late.watch(MockApi(keys=())), keep_alive=False))


@contextmanager
def open_mock(request: pytest.FixtureRequest, mock_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    """Open the World of a test under its own key during a `with` block."""
    from harness.api.http.dialects import API_ROOTS
    from harness.drive.counted import record_runs

    options = marks.read_marker_options(request.node)
    dialect = options.get("dialect")
    name = f"{request.node.parent.nodeid}::{request.node.name}"
    secured = tls_server(request, mock_server)
    server = secured.server if secured else mock_server
    base_url = server.base_url.removesuffix(API_ROOTS["openai"]) + API_ROOTS[dialect or "openai"]
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    mock = mock_server.api.open(f"sk-harness-{digest}", name, base_url)
    world = request.node.stash[WORLD_STASH_KEY] = mock.world
    world.dialect = dialect
    if as_of := options.get("as_of"):
        world.set_date(as_of)
    world.overrides = marks.overrides_of(request.node)
    late_requests(request.config).begin(request.node, name, urlsplit(mock_server.base_url).netloc)
    for text in marks.allowed_refusals(request.node):
        world.refusals.expect(text, required=False)
    if allowed := marks.allowed_mistakes(request.node):
        world.open_webhooks().allowed.update(allowed)
    marks.judge_client(world, options)
    forget_streams()
    for alias in filter(None, (SESSION_KEY, options.get("key"))):
        mock_server.api.add_alias(alias, mock.api_key)
    set_environment(mock, request.config, monkeypatch, secured.variables if secured else {})
    world.explorer = WorldExplorer(mock_server.api, world)
    world.coding_agents = partial(_make_coding_agent, mock)
    module = getattr(getattr(request.node, "module", None), "__name__", "")
    with note_caught_errors(world.refusals), record_runs(world.tool_runs, module):
        yield mock
    mock_server.api.close(world.api_key)


def _make_coding_agent(mock: Mock, name: str, **options: Any) -> CodingAgent:
    from harness.drive.coding_agents import CodingAgent

    return CodingAgent(name, mock, **options)


@dataclass(slots=True)
class WorldExplorer:
    """Explores variations for the World of a test; `explored` is how many fresh Worlds it has made."""

    api: MockApi
    world: World
    explored: int = 0

    def __call__(self, scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        """Run the scenario under variations."""
        from harness.examine.explore import explore

        return explore(scenario, self._fresh, cases, seed, combined)

    def generated(self, scenario: Scenario, strategy: Any, seed: int, examples: int) -> Exploration:
        """Run the scenario under generated scripts."""
        from harness.examine.explore import explore_scripts

        return explore_scripts(scenario, self._fresh, strategy, seed, examples)

    @contextmanager
    def _fresh(self) -> Iterator[Mock]:
        from harness.drive.counted import record_runs
        from harness.world.refusals import StrayLog

        api, world = self.api, self.world
        self.explored += 1
        del api.worlds[world.api_key]
        strays, api.strays = api.strays, StrayLog()
        try:
            made = api.open(world.api_key, world.name, world.base_url, world.vocabulary)
            made.world.dialect, made.world.overrides = world.dialect, world.overrides
            made.world.set_date(world.as_of)
            with record_runs(made.world.tool_runs, ""):
                yield made
        finally:
            api.worlds[world.api_key], api.strays = world, strays
