"""TLS in tests: a second server for the same Worlds, what makes clients trust it, and a credential for Azure.

The server is started by the first test that needs it, with a certificate made for the run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.core.errors import ConfigError
from harness.pytest_plugin.late import late_requests
from harness.pytest_plugin.options import read_marker_options

if TYPE_CHECKING:
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


class TlsServer(NamedTuple):
    """The TLS server: its authority (PEM), variables that make clients trust it, and rejections by clients.

    `reported` holds the reasons that are not reported again.
    """

    server: Server
    authority: str
    variables: Mapping[str, str]
    rejections: list[str]
    reported: set[str]


@pytest.fixture(scope="session")
def _tls_server(mock_server: Server, pytestconfig: pytest.Config) -> TlsServer:
    """Start the TLS server of this process, for the Worlds of `mock_server`; ConfigError without cryptography."""
    from harness.server.http_server import serve_in_thread
    from harness.server.tls.certificate import make_certificate, require_cryptography
    from harness.server.tls.trust import write_trust

    require_cryptography(f"@pytest.mark.harness(tls=True), or the fixture `{CREDENTIAL}`")
    made, rejections = make_certificate(), list[str]()
    made.context.report = rejections.append
    enter = late_requests(pytestconfig).until_end.enter_context
    folder = enter(TemporaryDirectory(prefix="harness-tls-"))
    server = enter(serve_in_thread(mock_server.api, keep_alive=False, tls=made.context))
    variables = write_trust(made.anchors, Path(folder), os.environ)
    own = pytestconfig.stash[_STASH_KEY] = TlsServer(
        server, made.anchors.decode(), variables, rejections, made.context.reported
    )
    return own


def tls_server(request: pytest.FixtureRequest) -> TlsServer | None:
    """Return the TLS server for a test that needs it, by its marker or an Azure credential; None for all others."""
    wanted = read_marker_options(request.node).get("tls", CREDENTIAL in request.fixturenames)
    if not wanted:
        return None
    own: TlsServer = request.getfixturevalue("_tls_server")
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


@pytest.fixture
def foundry_credential(openai_mock: Mock) -> FoundryCredential:
    """A credential for `AIProjectClient(mock.project_endpoint, foundry_credential)`, synchronous or asynchronous.

    The mock of the test speaks TLS, since Azure's clients send no token over plain HTTP.
    """
    from harness.drive.clients import FoundryCredential

    if not openai_mock.base_url.startswith("https:"):
        raise ConfigError(
            f"`{CREDENTIAL}`: the mock of this test uses plain HTTP, over which Azure's clients send no token. Name the "
            "fixture among the test's arguments, or mark the test @pytest.mark.harness(tls=True)."
        )
    return FoundryCredential(openai_mock.api_key)


def report_rejected(item: pytest.Item, report: pytest.TestReport) -> None:
    """Report for a failed test which clients rejected the certificate."""
    if own := item.config.stash.get(_STASH_KEY, None):
        end = time.monotonic() + (_ALERT_SECONDS if _REJECTED in report.longreprtext else 0)
        while not own.rejections and time.monotonic() < end:
            time.sleep(0.01)
        if own.rejections:
            report.sections.append((_SECTION, "\n".join(f"{text}." for text in own.rejections)))
            own.rejections.clear()
