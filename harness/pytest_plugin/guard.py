"""Keeps tests that use the harness off the live API: connections to a provider's hosts are refused, and fail the test.

The error names the test, the line that made the client and what to do. All threads of the process are covered; programs
that a test starts only inherit the environment. Requests that a library makes by itself in the background
(openai-agents uploads traces) are refused as if the network were down, and fail no test, since they may belong to any.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import pytest

from harness.pytest_plugin.causes import HARNESS_FIXTURES, error_chain, fail_for, note_causes, render_failure
from harness.pytest_plugin.client_origin import (
    ClientNoter,
    Line,
    asking_client,
    asking_frames,
    find_clients,
    find_origin,
)
from harness.pytest_plugin.environment import SESSION_ENV, session_server

if TYPE_CHECKING:
    from harness.explain.model import Cause


class LiveApiUnreachable(ConnectionRefusedError):
    """Raised for a connection to the live API that no line of the project has asked for."""


_REFUSED_STASH_KEY = pytest.StashKey[dict[str, "Cause"]]()
"""The stash key of a test's refused connections: the cause of one, by its address."""
_TOLD_STASH_KEY = pytest.StashKey[bool]()
_client_noter = ClientNoter()

_EARLY_FIX = (
    "Create the client while the test runs, in a function or in a fixture that requests `mock`. "
    f"Or set `{SESSION_ENV}` in pytest's configuration: clients created at import then use the mock, too."
)
_AZURE_FIX = 'Create the client while the test runs, with @pytest.mark.harness(dialect="azure").'
_ADDRESS_FIX = "Let the client read OPENAI_BASE_URL, or pass it `mock.base_url`: now it has an address of its own."
_MAX_CLIENTS = 3


def pytest_addoption() -> None:
    """Note where clients are made, from before the first conftest."""
    _client_noter.install()


def pytest_unconfigure() -> None:
    """Leave imports alone again."""
    _client_noter.remove()


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Guard a test that uses a fixture of the harness before its other fixtures are set up."""
    names = item.fixturenames if isinstance(item, pytest.Function) else []
    if not HARNESS_FIXTURES.isdisjoint(names) and not item.get_closest_marker("cassette"):
        if "_live_api_guard" in names:
            names.remove("_live_api_guard")
        names.insert(0, "_live_api_guard")


@pytest.fixture
def _live_api_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks connections to providers while the test runs."""
    from harness.api.http.dialects import provider_of_host
    from harness.cassettes.recording.block_network import block_network

    item = request.node
    refused: dict[str, Cause] = item.stash.setdefault(_REFUSED_STASH_KEY, {})

    def refuse(address: str) -> str:
        if not asking_frames() and asking_client() is None:
            raise LiveApiUnreachable(f"{address} is the live API, and {item.nodeid} uses the mock.")
        if address not in refused:
            refused[address] = _explain(item, address)
        return refused[address].what

    with block_network(refuse, lambda host: bool(provider_of_host(host.rstrip("."), ""))):
        yield


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Replace an error in a fixture by the refused connection that caused it."""
    return (yield from _fail_for_refused(item, swallowed=False))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test for a refused connection, even if its code ignored the error."""
    return (yield from _fail_for_refused(item, swallowed=True))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test for a connection that was refused after its body, or that only a fixture noticed."""
    return (yield from _fail_for_refused(item, swallowed=True))


def _fail_for_refused(item: pytest.Item, *, swallowed: bool) -> Generator[None, Any, Any]:
    """Run a phase of a test and fail with the refused connections, unless an unrelated error was raised."""
    try:
        result = yield
    except Exception as error:
        if not is_live_api_refused(item) or not _is_caused_by_refusal(error):
            raise
    else:
        if not swallowed:
            return result
    if refused := _untold(item):
        item.stash[_TOLD_STASH_KEY] = True
        fail_for(item, *refused.values())
    return None


def _untold(item: pytest.Item) -> dict[str, Cause]:
    """Return the refused connections of a test; setup, call and teardown report them only once."""
    return item.stash[_REFUSED_STASH_KEY] if is_live_api_refused(item) and _TOLD_STASH_KEY not in item.stash else {}


def is_live_api_refused(item: pytest.Item) -> bool:
    """Return whether a test has tried to reach the live API."""
    return _REFUSED_STASH_KEY in item.stash and bool(item.stash[_REFUSED_STASH_KEY])


def _is_caused_by_refusal(error: BaseException) -> bool:
    from harness.cassettes.recording.block_network import NetworkBlocked

    return any(isinstance(cause, NetworkBlocked) for cause in error_chain(error))


def explain_refused(item: pytest.Item, report: pytest.TestReport) -> None:
    """Explain refused connections in the report of a test that has failed by itself."""
    if refused := _untold(item):
        item.stash[_TOLD_STASH_KEY] = True
        from harness.explain.render import SECTION_TITLE

        note_causes(item, [*refused.values()])
        report.sections.append((SECTION_TITLE, render_failure([*refused.values()])))


def _explain(item: pytest.Item, address: str) -> Cause:
    """Explain a connection to the live API: the test, the line of the client, the line of the request, and the fix."""
    from harness.explain.model import Cause

    host, root = address.partition(":")[0], str(item.config.rootpath)
    fixtures = _fixture_codes(item)
    origins = [find_origin(client, fixtures) for client in find_clients(host)[:_MAX_CLIENTS]]
    made = list(dict.fromkeys(filter(None, origins)))
    asked = [Line(frame.f_code.co_filename, frame.f_lineno, f"in {frame.f_code.co_name}") for frame in asking_frames()]
    unknown = "on an unknown line: the client is a copy, or a library created it" if origins and not made else ""
    return Cause(
        f"A connection to the live API, {address}, was refused: this test uses the mock.",
        kind="live",
        asked="\n".join(line.show(root) for line in asked[:1]),
        made="\n".join(line.show(root) for line in made) or unknown,
        fix=_find_fix(item, host, made, is_early=bool(origins) and not made),
    )


def _find_fix(item: pytest.Item, host: str, made: Sequence[Line], *, is_early: bool) -> str:
    """Return the fix for a client with an address of its own, or one made too early."""
    early = any(line.where == "at import" or line.where.startswith("in the fixture") for line in made) or is_early
    # An address in the code takes precedence over the environment, however late the client is made.
    if not early or any("base_url" in line.source or "://" in line.source for line in made):
        return _ADDRESS_FIX
    if not host.endswith("openai.com"):
        return _AZURE_FIX
    return _ADDRESS_FIX if session_server(item.config) else _EARLY_FIX


def _fixture_codes(item: pytest.Item) -> dict[str, CodeType]:
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return {
        name: code
        for name, definition in definitions.items()
        if (code := getattr(definition[-1].func, "__code__", None))
    }
