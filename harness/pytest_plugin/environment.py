"""What a test gets: a World, a server (with TLS if needed), clients, and an environment that points others at it.

The variables are set while a test uses `mock`; with `harness_env = session` they are also set before collection, so that a
client made at import finds the mock. One key then leads to the World of whichever test is running.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from harness.api.http.dialects import API_ROOTS, PROVIDER_HOSTS
from harness.core.errors import ConfigError, add_section
from harness.core.limits import paused_collection
from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
from harness.drive.client_environment import client_variables, environment_changes
from harness.drive.clients import FoundryCredential, import_openai
from harness.drive.coding_agents import CodingAgent
from harness.drive.counted_functions import record_runs
from harness.pytest_plugin import marks
from harness.pytest_plugin.cassettes import is_played_as_script
from harness.pytest_plugin.client_watch import forget_streams, note_caught_errors
from harness.pytest_plugin.late_requests import late_requests
from harness.pytest_plugin.options import (
    ENV_INI,
    ENV_VALUES,
    SERVER_STASH_KEY,
    SESSION_ENV,
    WORLD_STASH_KEY,
    session_server,
)
from harness.world.exploration import Exploration, Scenario
from harness.world.mock import Mock
from harness.world.refusals import StrayLog
from harness.world.world import World

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from harness.server.http_server import Server
    from harness.server.mock_api import MockApi

SESSION_KEY = "sk-harness-session"
"""The API key in the environment of a whole run."""

CREDENTIAL = "foundry_credential"
"""The fixture whose tests need TLS: Azure's clients send no token over plain HTTP."""
_TLS_SECTION = "responses-harness: TLS"
_REJECTED = "CERTIFICATE_VERIFY_FAILED"
_ALERT_SECONDS = 0.5
"""Seconds to wait for the TLS alert of a client that has already failed."""
_TLS_STASH_KEY = pytest.StashKey["TlsServer"]()
_NO_WORLD = (
    f"no test uses `mock` now, and the key of `{SESSION_ENV}` selects the World of the running test. Request the fixture "
    "`mock` in the test that sends the request, or send none at import."
)


def set_session_environment(config: pytest.Config) -> None:
    """Set the environment for a whole run; UsageError for an invalid option."""
    chosen = config.getini(ENV_INI)
    if chosen not in ENV_VALUES:
        problem = f"{ENV_INI} = {chosen}: use one of {', '.join(ENV_VALUES)}."
        raise pytest.UsageError(add_section(problem, "options-and-files"))
    if session_server(config):
        return
    from harness.server.lazy_server import OnDemandServer

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
    key = SESSION_KEY if session_server(config) else mock.api_key
    _set_variables({**client_variables(mock, key), SECRET_VARIABLE: DEFAULT_SECRET, **trusting}, monkeypatch)


def _set_variables(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Behind a proxy the guard would not see that a request is meant for a provider.
    for variable, value in environment_changes(variables, os.environ, PROVIDER_HOSTS).items():
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)


def start_server(config: pytest.Config) -> Server:
    """Start the server of this process, or return the one of the whole run."""
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
    world.coding_agents = partial(CodingAgent, mock=mock)
    module = getattr(getattr(request.node, "module", None), "__name__", "")
    with (
        note_caught_errors(world.refusals),
        record_runs(world.tool_runs, module, getattr(request.node, "originalname", "")),
    ):
        yield mock
    mock_server.api.close(world.api_key)


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


def open_client(request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    """Open a client of the SDK for a test, and close it."""
    openai = _import_openai()
    base_url, api_key, verify = _client_target(request)
    http = openai.DefaultHttpxClient(verify=verify)
    with openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http) as made:
        yield made


def open_async_client(request: pytest.FixtureRequest) -> Iterator[AsyncOpenAI]:
    """Open an asynchronous client for a test, and close it in an event loop of its own."""
    openai = _import_openai()
    base_url, api_key, verify = _client_target(request)
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=1000, max_keepalive_connections=0)
    http = openai.DefaultAsyncHttpxClient(limits=limits, verify=verify)
    made = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http)
    yield made
    loop = asyncio.new_event_loop()
    loop.run_until_complete(made.close())
    loop.close()


def _client_target(request: pytest.FixtureRequest) -> tuple[str | None, str, Any]:
    """Return the base URL, the key and the `verify` argument for the client of a test: of the mock or the cassette."""
    if request.node.get_closest_marker("cassette") and not is_played_as_script(request.node):
        return os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY", ""), True
    mock = request.getfixturevalue("openai_mock")
    return mock.base_url, mock.api_key, client_verification(request)


def _import_openai() -> Any:
    try:
        return import_openai("the fixture")
    except ConfigError as problem:
        pytest.fail(add_section(str(problem), problem.section), pytrace=False)


class TlsServer(NamedTuple):
    """The TLS server: its authority (PEM), variables that make clients trust it, and rejections by clients.

    `reported` holds the reasons that are not reported again.
    """

    server: Server
    authority: str
    variables: Mapping[str, str]
    rejections: list[str]
    reported: set[str]


def _start_tls_server(config: pytest.Config, mock_server: Server) -> TlsServer:
    from harness.server.http_server import serve_in_thread
    from harness.server.tls.certificate import make_certificate, require_cryptography, write_trust

    require_cryptography(f"@pytest.mark.harness(tls=True), or the fixture `{CREDENTIAL}`")
    made, rejections = make_certificate(), list[str]()
    made.context.report = rejections.append
    enter = late_requests(config).until_end.enter_context
    folder = enter(TemporaryDirectory(prefix="harness-tls-"))
    server = enter(serve_in_thread(mock_server.api, keep_alive=False, tls=made.context))
    variables = write_trust(made.anchors, Path(folder), os.environ)
    return TlsServer(server, made.anchors.decode(), variables, rejections, made.context.reported)


def tls_server(request: pytest.FixtureRequest, mock_server: Server) -> TlsServer | None:
    """Return the TLS server for a test that needs it, by its marker or an Azure credential; None for all others.

    It is started by the first of them, with a certificate made for the run; ConfigError without cryptography.
    """
    if not marks.read_marker_options(request.node).get("tls", CREDENTIAL in request.fixturenames):
        return None
    stash = request.config.stash
    if _TLS_STASH_KEY not in stash:
        stash[_TLS_STASH_KEY] = _start_tls_server(request.config, mock_server)
    own = stash[_TLS_STASH_KEY]
    own.reported.clear()
    own.rejections.clear()
    _trust_in_aiohttp(own.authority)
    return own


def client_verification(request: pytest.FixtureRequest) -> Any:
    """Return the `verify` argument for a client of a test's mock: a context that trusts it, False over plain HTTP."""
    if not request.getfixturevalue("openai_mock").base_url.startswith("https:"):
        return False  # loading certificates would take 20 ms
    from harness.server.tls.certificate import trusting_context

    return trusting_context(request.config.stash[_TLS_STASH_KEY].authority)


def _trust_in_aiohttp(authority: str) -> None:
    """Make aiohttp trust an authority: it only reads the variables when it is imported, before the test."""
    module: Any = sys.modules.get("aiohttp.connector")
    if context := getattr(module, "_SSL_CONTEXT_VERIFIED", None):
        context.load_verify_locations(cadata=authority)


def make_credential(mock: Mock) -> FoundryCredential:
    """Make a credential for a test; ConfigError if its mock uses plain HTTP."""
    if not mock.base_url.startswith("https:"):
        raise ConfigError(
            f"`{CREDENTIAL}`: the mock of this test uses plain HTTP, over which Azure's clients send no token. Name the "
            "fixture among the test's arguments, or mark the test @pytest.mark.harness(tls=True)."
        )
    return FoundryCredential(mock.api_key)


def report_rejected(item: pytest.Item, report: pytest.TestReport) -> None:
    """Report for a failed test which clients rejected the certificate."""
    if own := item.config.stash.get(_TLS_STASH_KEY, None):
        end = time.monotonic() + (_ALERT_SECONDS if _REJECTED in report.longreprtext else 0)
        while not own.rejections and time.monotonic() < end:
            time.sleep(0.01)
        if own.rejections:
            report.sections.append((_TLS_SECTION, "\n".join(f"{text}." for text in own.rejections)))
            own.rejections.clear()
