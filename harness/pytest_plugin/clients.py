"""The clients of a test, and TLS: a second server for the same Worlds, what makes clients trust it, and a credential."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.core.errors import ConfigError, add_section
from harness.pytest_plugin.cassettes import is_played_as_script
from harness.pytest_plugin.late_requests import late_requests
from harness.pytest_plugin.marks import read_marker_options

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from harness.drive.clients import FoundryCredential
    from harness.server.http_server import Server
    from harness.world.mock import Mock

CREDENTIAL = "foundry_credential"
"""The fixture whose tests need TLS: Azure's clients send no token over plain HTTP."""
_SECTION = "responses-harness: TLS"
_REJECTED = "CERTIFICATE_VERIFY_FAILED"
_ALERT_SECONDS = 0.5
"""Seconds to wait for the TLS alert of a client that has already failed."""
_STASH_KEY = pytest.StashKey["TlsServer"]()


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
    from harness.drive.clients import import_openai

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
    from harness.server.tls.certificate import make_certificate, require_cryptography
    from harness.server.tls.trust import write_trust

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
    if not read_marker_options(request.node).get("tls", CREDENTIAL in request.fixturenames):
        return None
    stash = request.config.stash
    if _STASH_KEY not in stash:
        stash[_STASH_KEY] = _start_tls_server(request.config, mock_server)
    own = stash[_STASH_KEY]
    own.reported.clear()
    own.rejections.clear()
    _trust_in_aiohttp(own.authority)
    return own


def client_verification(request: pytest.FixtureRequest) -> Any:
    """Return the `verify` argument for a client of a test's mock: a context that trusts it, False over plain HTTP."""
    if not request.getfixturevalue("openai_mock").base_url.startswith("https:"):
        return False  # loading certificates would take 20 ms
    from harness.server.tls.trust import trusting_context

    return trusting_context(request.config.stash[_STASH_KEY].authority)


def _trust_in_aiohttp(authority: str) -> None:
    """Make aiohttp trust an authority: it only reads the variables when it is imported, before the test."""
    module: Any = sys.modules.get("aiohttp.connector")
    if context := getattr(module, "_SSL_CONTEXT_VERIFIED", None):
        context.load_verify_locations(cadata=authority)


def make_credential(mock: Mock) -> FoundryCredential:
    """Make a credential for a test; ConfigError if its mock uses plain HTTP."""
    from harness.drive.clients import FoundryCredential

    if not mock.base_url.startswith("https:"):
        raise ConfigError(
            f"`{CREDENTIAL}`: the mock of this test uses plain HTTP, over which Azure's clients send no token. Name the "
            "fixture among the test's arguments, or mark the test @pytest.mark.harness(tls=True)."
        )
    return FoundryCredential(mock.api_key)


def report_rejected(item: pytest.Item, report: pytest.TestReport) -> None:
    """Report for a failed test which clients rejected the certificate."""
    if own := item.config.stash.get(_STASH_KEY, None):
        end = time.monotonic() + (_ALERT_SECONDS if _REJECTED in report.longreprtext else 0)
        while not own.rejections and time.monotonic() < end:
            time.sleep(0.01)
        if own.rejections:
            report.sections.append((_SECTION, "\n".join(f"{text}." for text in own.rejections)))
            own.rejections.clear()
