"""Keeps tests that use the harness off the live API: connections to a provider's hosts are refused, and fail the test.

The error names the test, the line that made the client and what to do. All threads of the process are covered; programs
that a test starts only inherit the environment. Requests that a library makes by itself in the background
(openai-agents uploads traces) are refused as if the network were down, and fail no test, since they may belong to any.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import CodeType
from typing import TYPE_CHECKING

import pytest

from harness.cassettes.recording.block_network import NetworkBlocked, block_network, is_provider
from harness.core.errors import error_chain
from harness.explain.cause import Cause
from harness.explain.render import SECTION_TITLE
from harness.pytest_plugin.causes import fail_for, note_causes, render_failure
from harness.pytest_plugin.client_watch import Line, asking_client, asking_frames, find_clients, find_origin, show_line
from harness.pytest_plugin.options import SESSION_ENV, session_server

if TYPE_CHECKING:
    from pluggy import Result


class LiveApiUnreachable(ConnectionRefusedError):
    """Raised for a connection to the live API that no line of the project has asked for."""


_REFUSED_STASH_KEY = pytest.StashKey[dict[str, "Cause"]]()
"""The stash key of a test's refused connections: the cause of one, by its address."""
_TOLD_STASH_KEY = pytest.StashKey[bool]()

_EARLY_FIX = (
    "Create the client while the test runs, in a function or in a fixture that requests `mock`. "
    f"Or set `{SESSION_ENV}` in pytest's configuration: clients created at import then use the mock, too."
)
_AZURE_FIX = 'Create the client while the test runs, with @pytest.mark.harness(dialect="azure").'
_ADDRESS_FIX = "Let the client read OPENAI_BASE_URL, or pass it `mock.base_url`: now it has an address of its own."
_MAX_CLIENTS = 3


def block_providers(item: pytest.Item) -> AbstractContextManager[None]:
    """Block connections to providers during a `with` block."""
    refused: dict[str, Cause] = item.stash.setdefault(_REFUSED_STASH_KEY, {})

    def refuse(address: str) -> str:
        if not asking_frames() and asking_client() is None:
            raise LiveApiUnreachable(f"{address} is the live API, and {item.nodeid} uses the mock.")
        if address not in refused:
            refused[address] = _explain(item, address)
        return refused[address].what

    return block_network(refuse, is_provider)


def replace_refused(item: pytest.Item, outcome: Result[None]) -> None:
    """Replace the error of a phase by the refused connection that caused it; an unrelated error stays."""
    error = outcome.exception
    if not isinstance(error, Exception) or not is_live_api_refused(item):
        return
    if any(isinstance(cause, NetworkBlocked) for cause in error_chain(error)):
        _fail_for_refused(item)
        outcome.force_result(None)


def judge_refused(item: pytest.Item, outcome: Result[None]) -> None:
    """Fail a phase for refused connections, even if its code ignored the error; an unrelated error stays."""
    if outcome.exception:
        replace_refused(item, outcome)
    else:
        _fail_for_refused(item)


def _fail_for_refused(item: pytest.Item) -> None:
    if refused := _take_unreported(item):
        fail_for(item, *refused)


def _take_unreported(item: pytest.Item) -> list[Cause]:
    """Return the refused connections of a test, once: setup, call and teardown report them only once."""
    if not is_live_api_refused(item) or _TOLD_STASH_KEY in item.stash:
        return []
    item.stash[_TOLD_STASH_KEY] = True
    return [*item.stash[_REFUSED_STASH_KEY].values()]


def is_live_api_refused(item: pytest.Item) -> bool:
    """Return whether a test has tried to reach the live API."""
    return bool(item.stash.get(_REFUSED_STASH_KEY, {}))


def explain_refused(item: pytest.Item, report: pytest.TestReport) -> None:
    """Explain refused connections in the report of a test that has failed by itself."""
    if refused := _take_unreported(item):
        note_causes(item, refused)
        report.sections.append((SECTION_TITLE, render_failure(refused)))


def _explain(item: pytest.Item, address: str) -> Cause:
    """Explain a connection to the live API: the test, the line of the client, the line of the request, and the fix."""
    host, root = address.partition(":")[0], str(item.config.rootpath)
    fixtures = _fixture_codes(item)
    origins = [find_origin(client, fixtures) for client in find_clients(host)[:_MAX_CLIENTS]]
    made = list(dict.fromkeys(filter(None, origins)))
    unknown = "on an unknown line: the client is a copy, or a library created it" if origins and not made else ""
    return Cause(
        f"A connection to the live API, {address}, was refused: this test uses the mock.",
        kind="live",
        asked="".join(show_line(frame, root) for frame in asking_frames()[:1]),
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
