"""Why a test failed: its causes, for the terminal and the reports, and hints for errors of Python or the SDK.

Hints are for errors that the set-up of the test causes, such as a client made at import without a key, a fixture `client`
of another plugin, a token over plain HTTP.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from itertools import pairwise
from time import monotonic, sleep
from traceback import walk_tb
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from harness.core.errors import HarnessError, error_chain, name_section
from harness.pytest_plugin.client_watch import Line, is_of_project, project_frames
from harness.pytest_plugin.options import CAUSES_STASH_KEY, SESSION_ENV, session_server

if TYPE_CHECKING:
    from pluggy import Result

    from harness.explain.cause import Cause
    from harness.world.world import World


def causes_of(item: pytest.Item) -> Sequence[Cause]:
    """Return why a test failed; empty if it has not, or if nobody has found out."""
    return item.stash.get(CAUSES_STASH_KEY, ())


def note_causes(item: pytest.Item, causes: Sequence[Cause]) -> None:
    """Keep the causes of a failure, unless those of an earlier phase are there."""
    item.stash[CAUSES_STASH_KEY] = causes_of(item) or causes


def fail_for(item: pytest.Item, *causes: Cause, details: str = "") -> NoReturn:
    """Fail a test with its causes instead of a traceback."""
    note_causes(item, causes)
    raise pytest.fail.Exception(render_failure(causes, details), pytrace=False) from None


def render_failure(causes: Sequence[Cause], details: str = "") -> str:
    """Render the causes of a failed test, and details of them."""
    from harness.core.advice_wording import PYTHON
    from harness.core.text import escape_controls
    from harness.explain.render import render_causes

    return escape_controls("\n\n".join(filter(None, [render_causes(causes, PYTHON), details])))


def cause_of_error(item: pytest.Item, error: BaseException) -> Cause:
    """Build the cause of a test that only its error explains, at the last line of the project before the error."""
    from harness.explain.cause import Cause, raised_cause

    places = project_lines(error)
    where = (
        places[-1].show(str(item.config.rootpath)) if places else f"{item.location[0]}:{(item.location[1] or 0) + 1}"
    )
    if not isinstance(error, HarnessError):
        return raised_cause(pytest.ExceptionInfo.from_exception(error).exconly(), where)
    problem = error.problem
    shown = "\n".join([where, *(line.strip() for line in problem.shown)])
    return Cause(problem.what, section=error.section, where=shown, fix=problem.fix)


def project_lines(error: BaseException) -> list[Line]:
    """List the lines of the project in the traceback of an error, outermost first."""
    walked = [(frame.f_code, number) for frame, number in walk_tb(error.__traceback__)]
    return [
        Line(code.co_filename, number, f"in {code.co_name}")
        for code, number in walked
        if is_of_project(code.co_filename)
    ]


_KEY_IS_MISSING = r"\b(AZURE_)?OPENAI_(?:API_KEY|ENDPOINT)\b"
"""Matches the variables in the error of a client without a key, whichever library raises it."""
_CLIENT_MEMBERS = frozenset({"responses", "conversations", "chat", "files", "vector_stores", "beta", "with_options"})
_OWN_NAMES = {"client": "openai_client", "async_client": "async_openai_client", "mock": "openai_mock"}
"""Names of fixtures that other plugins have, too, and the names that only the harness has."""
_TOKEN_OVER_HTTP = "Bearer token .* (?:non-TLS|non-https)"
"""Matches azure-core's error for a token over plain HTTP."""
_TLS_HINT = (
    "The mock speaks TLS to a test with the fixture `foundry_credential`, whose token is the key of the test, or with\n"
    "@pytest.mark.harness(tls=True)."
)
_LIBRARIES = frozenset(
    {
        *("agents", "aiohttp", "azure", "http", "httpcore", "httpx", "langchain_openai", "litellm", "openai"),
        *("pydantic_ai", "requests", "socket", "ssl", "urllib", "urllib3"),
    }
)
"""Libraries whose errors may be due to a client that connected somewhere else."""
_HIDDEN = frozenset({"anyio", "contextlib", "harness", "httpcore", "httpcore2", "httpx", "httpx2", "openai"})
"""Libraries whose frames do not help with a failed test."""
_ASYNC_UNSUPPORTED = "async def functions are not natively supported"
_BLOCKERS = {
    name: f"{name.replace('_', '-')} blocks the mock's address, too. Let loopback through: pytest {option}"
    for name, option in (
        ("pytest_socket", "--allow-hosts=127.0.0.1,::1"),
        ("pytest_recording", "--allowed-hosts=127.0.0.1"),
    )
}
"""How to let loopback through, by the module of the plugin that blocks sockets."""
SECTION_TITLE = "responses-harness"


def add_client_hint(config: pytest.Config, error: BaseException) -> None:
    """Explain in a note what a client without a key needs, or which `harness` was imported."""
    if hint := client_hint(config, error):
        error.add_note(hint)


def client_hint(config: pytest.Config, error: BaseException) -> str:
    """Explain what a client without a key needs, or which `harness` was imported; empty for any other error."""
    return _key_hint(config, error) or _name_hint(error)


def explain_setup(item: pytest.Item, outcome: Result[None]) -> None:
    """Explain what a client without a key in a fixture needs; an error in the configuration has no frames to show."""
    error = outcome.exception
    if not isinstance(error, Exception):
        return
    if isinstance(error, HarnessError) and not project_lines(error):
        cause = cause_of_error(item, error)
        note_causes(item, [cause])
        rows = [f"  {label:<8}{text}" for label, text in cause.rows if text not in str(error)]
        raise pytest.fail.Exception("\n".join([str(error), *rows]), pytrace=False) from None
    _add_section_hint(error)
    if _has_mock(item):
        add_client_hint(item.config, error)
        _add_blocker_hint(error)


def explain_call(item: pytest.Item, outcome: Result[None]) -> None:
    """Explain whose fixture `client` is, if a test takes it for the SDK's, and how a token of Azure can be sent."""
    error = outcome.exception
    if not isinstance(error, Exception):
        return
    _add_section_hint(error)
    if _has_mock(item):
        _add_blocker_hint(error)
    for failed in error_chain(error):
        if isinstance(failed, AttributeError) and (hint := _fixture_hint(item, failed)):
            failed.add_note(hint)
        if re.search(_TOKEN_OVER_HTTP, str(failed)) and _has_mock(item):
            failed.add_note(_TLS_HINT)


def _has_mock(item: pytest.Item) -> bool:
    return "openai_mock" in getattr(item, "fixturenames", ())


def _add_section_hint(error: BaseException) -> None:
    """Name the section of the manual about a mistake in the use of the harness."""
    if isinstance(error, HarnessError):
        error.add_note(f"manual: {name_section(error.section)}")


def may_come_of_silence(call: pytest.CallInfo[None], world: World) -> bool:
    """Return whether a client that sent no request may have caused a failure: an assertion's or an HTTP library's."""
    error = call.excinfo.value if call.excinfo else None
    if error is None or isinstance(error, AssertionError) or world.not_awaited:
        return True
    if isinstance(error, pytest.fail.Exception):
        return not str(error).startswith(_ASYNC_UNSUPPORTED)
    return not _blocker_of(error) and any(
        isinstance(failed, ConnectionError | TimeoutError) or type(failed).__module__.partition(".")[0] in _LIBRARIES
        for failed in error_chain(error)
    )


def close_not_started(error: BaseException) -> tuple[str, ...]:
    """List the coroutines in the project's frames of an error that nobody has awaited, as Python warns about them.

    They are closed: Python would warn when the error is forgotten, which may be in another test.
    """
    frames = project_frames(frame for frame, _ in walk_tb(error.__traceback__))
    values = (value for frame in frames for value in frame.f_locals.values())
    waiting = [value for value in values if iscoroutine(value) and getcoroutinestate(value) == CORO_CREATED]
    for coroutine in waiting:
        coroutine.close()
    return tuple(dict.fromkeys(f"coroutine '{value.__qualname__}' was never awaited" for value in waiting))


def wait_for_hang_up(call: pytest.CallInfo[None], world: World) -> None:
    """Wait until the server knows that a client has hung up, if a time-out of the client has failed the test."""
    chain = error_chain(call.excinfo.value) if call.excinfo else ()
    if not any("Timeout" in type(failed).__name__ for failed in chain):
        return
    end = monotonic() + HANG_UP_SECONDS
    while monotonic() < end and not any(times.left is not None for times in world.edge.values()):
        sleep(0.01)


HANG_UP_SECONDS = 0.5
"""How long a server may take to know that a client has hung up."""


def describe_reached(call: pytest.CallInfo[None]) -> str:
    """Describe which URL a client could not reach, and why; empty for any other error."""
    chain = [*error_chain(call.excinfo.value)] if call.excinfo else []
    if not any(
        isinstance(failed, ConnectionError | TimeoutError) or "Connect" in type(failed).__name__ for failed in chain
    ):
        return ""
    url = next(filter(None, (getattr(_request_of(failed), "url", None) for failed in chain)), "")
    return f"{url}: {chain[-1] or type(chain[-1]).__name__}".removeprefix(": ")


def _request_of(error: BaseException) -> Any:
    with suppress(Exception):  # httpx raises if it has none
        return getattr(error, "request", None)
    return None


def _blocker_of(error: BaseException) -> str:
    """Return the module of the plugin that blocked a client's socket; empty for any other error."""
    for failed in error_chain(error):
        modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(failed.__traceback__)]
        # Blockers raise their own errors, or a built-in one from their module.
        for name in (type(failed).__module__, *modules[-1:]):
            if (root := str(name).partition(".")[0]) in _BLOCKERS:
                return root
    return ""


def _add_blocker_hint(error: BaseException) -> None:
    if name := _blocker_of(error):
        error.add_note(_BLOCKERS[name])


def _name_hint(error: BaseException) -> str:
    """Explain which `harness` was imported, for an error that something is missing in it; empty for any other error."""
    failed = next((cause for cause in error_chain(error) if isinstance(cause, ImportError)), None)
    if failed is None or str(failed.name).partition(".")[0] != "harness":
        return ""
    if near := _find_nearest(str(failed), sys.modules.get(str(failed.name))):
        return f"Did you mean {near!r}?"
    return (
        "The `harness` that was imported is the one of responses-harness. One of the project's own needs another name; or\n"
        "run `pytest -p no:responses_harness`, which leaves the mock out."
    )


def _find_nearest(message: str, module: ModuleType | None) -> str:
    """Return the name in a module that is nearest to the one that could not be imported; empty if none is near."""
    missing = re.match(r"cannot import name '(\w+)'", message)
    names = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    return next(iter(get_close_matches(missing[1], names, 1)), "") if missing and module else ""


def _key_hint(config: pytest.Config, error: BaseException) -> str:
    """Explain how a client finds the mock, for an error about a missing key or endpoint; empty for any other error."""
    found = next(filter(None, (re.search(_KEY_IS_MISSING, str(cause)) for cause in error_chain(error))), None)
    if found is None or session_server(config):
        return ""
    if found[1]:
        return (
            "A client for Azure is created before the mock exists. Create it while the test runs, in a function or in a\n"
            'fixture that requests `mock`, with @pytest.mark.harness(dialect="azure").'
        )
    return (
        "A client is created before the mock exists. Create it while the test runs, in a function or in a fixture that\n"
        f"requests `mock`. Or set `{SESSION_ENV}` in pytest's configuration: clients created at import then use it, too."
    )


def _fixture_hint(item: pytest.Item, error: AttributeError) -> str:
    """Explain whose fixture lacks a member of the SDK's client; empty for any other error."""
    values = getattr(item, "funcargs", {})
    name = next((name for name in _OWN_NAMES if name in values and values[name] is error.obj), "")
    # A member that the harness's own fixture also lacks is a mistake in the test.
    if not name or error.name not in (_mock_members() if name == "mock" else _CLIENT_MEMBERS):
        return ""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get(name)
    owner = f"a fixture of {definitions[-1].func.__module__}" if definitions else "another fixture"
    kind = type(error.obj)
    whose = f"`{name}` is {owner} here, a {kind.__module__}.{kind.__qualname__}"
    ours = "The mock of responses-harness" if name == "mock" else "The client of the mock"
    return f"{whose}. {ours} is `{_OWN_NAMES[name]}`."


def _mock_members() -> list[str]:
    """List the members of the mock's handle that a test can call."""
    from harness.world.mock import Mock

    return [member for member in vars(Mock) if not member.startswith("_")]


def hide_library_frames(error: BaseException) -> None:
    """Remove the frames of HTTP libraries and of the harness from the tracebacks of an error and its causes.

    Of an error that has no others the last frame is kept. Of causes outside the project the first is kept, as a line
    without frames; an error of the harness says everything itself.
    """
    for failed in error_chain(error):
        entries = []
        entry = failed.__traceback__
        while entry:
            entries.append(entry)
            entry = entry.tb_next
        kept = [entry for entry in entries if not _is_of_library(entry)]
        if failed is error:
            kept = kept or entries[-1:]
        elif not project_lines(failed):
            kept = []
        for before, after in pairwise([*kept, None]):
            if before:
                before.tb_next = after
        failed.__traceback__ = kept[0] if kept else None
    _shorten_chain(error)


def _shorten_chain(error: BaseException) -> None:
    """Let the last cause without frames be the cause of the last error that has some."""
    chain = [error]
    while (
        cause := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__)
    ) is not None:
        if cause in chain:
            return
        chain.append(cause)
    framed = max(place for place, failed in enumerate(chain) if failed.__traceback__ or failed is error)
    if isinstance(chain[framed], HarnessError):
        chain[framed].__cause__, chain[framed].__suppress_context__ = None, True
    elif chain[framed] is not chain[-1]:
        chain[framed].__cause__ = chain[-1]


def _is_of_library(entry: TracebackType) -> bool:
    root = str(entry.tb_frame.f_globals.get("__name__")).partition(".")[0]
    return root in _HIDDEN and not is_of_project(entry.tb_frame.f_code.co_filename)
