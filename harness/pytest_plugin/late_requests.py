"""Requests that arrive after their test has ended, or while no test uses the mock: they fail the run, not a later test.

A thread, an executor, a program or the teardown of a session fixture may send requests when the World of its test is
closed. The mock is served until the end of the run; it then reports what it had to refuse, and a run that would have
ended with 0 ends with 1.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.core.errors import ConfigError
from harness.core.exchange import Exchange, Json, Stray
from harness.core.text import escape_controls
from harness.explain.render import render_cause
from harness.explain.turn import late_cause, stray_finding
from harness.pytest_plugin.client_watch import client_in, frames_of, project_frames, show_line, trace_key
from harness.pytest_plugin.marks import allowed_refusals, project_refusals
from harness.report.formats import CHECKOUT_VARIABLE
from harness.report.report import ReportCase, sanitize_reason
from harness.world.refusals import is_refused_by
from harness.world.world import World

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi


_TITLE = "responses-harness: after the tests"
_OUTPUT_KEY = "harness_late"
"""The key in a pytest-xdist worker's output of what it reports."""
_MAX_KEPT = 20
"""How many late requests are kept, the first that no test has caught; as many are traced to their clients."""
_STASH_KEY = pytest.StashKey["_LateRequests"]()


class _Late(NamedTuple):
    """A late request: the World then open, and descriptions of the lines that sent it and made the client."""

    stray: Stray
    world: World | None
    sending_lines: list[str]
    client_lines: list[str]


class _LateRequests:
    """The late requests of a process, and the resources that serve the mock until its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.until_end = ExitStack()
        self._config = config
        self._root = str(config.rootpath)
        self._found: list[_Late] = []
        self._count = self._hidden = 0
        self._items: dict[str, pytest.Item] = {}
        self._reported: list[World] = []
        self._address = ""
        self._known: list[threading.Thread] = []
        self._texts: list[str] = []
        self._notes: list[str] = []
        self.cases: list[Json] = []
        """The late requests for a report: the JSON of a `ReportCase` for each test and key."""

    def watch(self, api: MockApi) -> MockApi:
        """Observe a mock for requests without a World."""
        from harness.server.api_observers import StrayObserver

        api.observers.add(StrayObserver(lambda stray: self.note(stray, next(iter(api.worlds.values()), None))))
        return api

    def begin(self, item: pytest.Item, name: str, address: str) -> None:
        if not self._address:
            self._address, self._known = address, threading.enumerate()
        self._items[name] = item

    def note_reported(self, world: World) -> None:
        """Record that the test of a World failed and reported the requests with other keys."""
        self._reported.append(world)

    def note(self, stray: Stray, running: World | None) -> None:
        """Keep a request that is not allowed, unless the running test judges it: its key belongs to no ended test."""
        if (running is not None and not stray.owner) or self._is_allowed(stray):
            return
        # Requests that were allowed, caught or reported meanwhile make room.
        if len(self._found) == _MAX_KEPT:
            self._found = list(filter(self._is_unexpected, self._found))
        if len(self._found) == _MAX_KEPT:
            self._hidden += 1
            return
        sending_lines, client_lines = list[str](), list[str]()
        if self._count < _MAX_KEPT:
            with suppress(Exception):  # other threads keep running while their frames are read
                sending_lines, client_lines = trace_key(stray.key, self._root)
        self._count += 1
        self._found.append(_Late(stray, running, sending_lines, client_lines))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Wait for what tests have left running, unless the run was interrupted, and fail the run for late requests."""
        # A user who interrupts a run does not want to wait for it.
        if self._address and session.exitstatus != pytest.ExitCode.INTERRUPTED:
            left = wait_until_quiet(self._address, self._root, self._known)
            self._notes += [
                f"{program} after a wait of {WAIT_SECONDS:g} s: its later requests belong to no test. End it in its test."
                for program in left
            ]
        self.until_end.close()
        self._explain(session)
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output[_OUTPUT_KEY] = (self._texts, self._notes, self.cases)
        # With xdist the controller decides, from the findings of all workers.
        elif self._texts and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        texts, notes, cases = (getattr(node, "workeroutput", None) or {}).get(_OUTPUT_KEY, ((), (), ()))
        self._texts += texts
        self._notes += notes
        self.cases += cases

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which requests came late, and what is still running."""
        if not self._texts and not self._notes:
            return
        terminalreporter.write_sep("=", _TITLE, red=bool(self._texts))
        for text in self._texts:
            terminalreporter.write_line(text)
        for note in self._notes:
            terminalreporter.write_line(note)
        if self._texts:
            terminalreporter.write_line("Therefore the run fails, with exit code 1.", red=True)

    def _explain(self, session: pytest.Session) -> None:
        """Explain the late requests that were not allowed, caught or reported, in one block and case per test."""
        groups: dict[tuple[str, str], list[_Late]] = {}
        for late in filter(self._is_unexpected, self._found):
            groups.setdefault((late.stray.owner, late.stray.key), []).append(late)
        if not groups:
            return
        for (owner, _), group in groups.items():
            cause = late_cause(
                [late.stray for late in group],
                [late.world.name if late.world else "" for late in group],
                dict.fromkeys(line for late in group for line in late.sending_lines),
                dict.fromkeys(line for late in group for line in late.client_lines),
            )
            self._texts.append(escape_controls(render_cause(cause)))
            node: pytest.Item | pytest.Session = self._items.get(owner, session)
            case = new_case(
                node,
                "error",
                why=cause.what,
                found=[sanitize_reason(stray_finding(cause, group[0].stray))],
                explained=[sanitize_reason(cause)],
            )
            self.cases.append((case if owner else replace(case, id=_TITLE)).to_json())
        if self._hidden:
            self._texts.append(f"… and {self._hidden} more of such requests")

    def _is_allowed(self, stray: Stray) -> bool:
        item, exchange = self._items.get(stray.owner), Exchange(0, stray.request, stray.answer)
        try:
            allowed = allowed_refusals(item) if item else project_refusals(self._config)
        except ConfigError:  # an invalid option fails the tests themselves
            return False
        return any(is_refused_by(exchange, text) for text in allowed)

    def _is_unexpected(self, late: _Late) -> bool:
        """Return whether a request was neither caught by a test nor reported with a failure."""
        world = late.world
        return world is None or not (
            any(world is reported for reported in self._reported) or world.refusals.is_expected(late.stray.answer)
        )


def late_requests(config: pytest.Config) -> _LateRequests:
    """Return the late requests of this process, which are recorded from the first call on."""
    if _STASH_KEY not in config.stash:
        config.stash[_STASH_KEY] = _LateRequests(config)
        config.pluginmanager.register(config.stash[_STASH_KEY], "harness-late")
    return config.stash[_STASH_KEY]


def new_case(item: pytest.Item | pytest.Session, outcome: str, seconds: float = 0, **others: Any) -> ReportCase:
    """Make the case of a test that took `seconds` seconds; `others` are further members of the case.

    The case of a run is placed at its configuration file, which exists even if no test was collected.
    """
    if isinstance(item, pytest.Session):
        configured = item.config.inipath
        place: tuple[str, int | None, str] = (configured.name if configured else "conftest.py", 0, "")
    else:
        place = item.location
    file, line, _ = place
    path = f"{_checkout_prefix(item.config.rootpath)}{Path(file).as_posix()}"
    return ReportCase(item.nodeid, path, (line or 0) + 1, outcome, round(seconds, 4), **others)


def _checkout_prefix(root: Path) -> str:
    """Return the path from the checkout to the root of the run: empty, or ending with a slash."""
    checkout = os.environ.get(CHECKOUT_VARIABLE)
    inside = root.relative_to(checkout).as_posix() if checkout and root.is_relative_to(checkout) else "."
    return "" if inside == "." else f"{inside}/"


WAIT_SECONDS = 10.0
"""How long a run waits for what its tests have left behind."""


def wait_until_quiet(address: str, root: str, known: Sequence[threading.Thread]) -> list[str]:
    """Wait until nothing that tests have left can ask the mock at `address`; returns what still runs then, in words.

    Threads that are `known` are not those of tests. Files are named relative to the folder `root`.
    """
    end = time.monotonic() + WAIT_SECONDS
    while (busy := [*_threads(root, known), *_processes(), *_programs(address)]) and time.monotonic() < end:
        time.sleep(0.02)
    return busy


def _threads(root: str, known: Sequence[threading.Thread]) -> Iterator[str]:
    """Name the threads that Python waits for in the midst of the project's code, and those that ask through the SDK now."""
    frames = sys._current_frames()
    others = (threading.current_thread(), *known)
    for thread in (thread for thread in threading.enumerate() if thread not in others):
        stack = frames_of(frames[thread.ident]) if thread.ident in frames else ()
        ours = next(iter(project_frames(stack)), None)
        # Threads of libraries idle for ever; a daemon thread of the project is meant to end with the process.
        if (ours and not thread.daemon) or client_in(stack) is not None:
            yield f"thread {thread.name} still runs ({show_line(ours, root) if ours else 'in the SDK'})"


def _processes() -> Iterator[str]:
    """Name the processes of `multiprocessing` that Python waits for; the workers of an executor idle until it ends."""
    managers = [thread for thread in threading.enumerate() if not getattr(thread, "pending_work_items", True)]
    idle = {number for manager in managers for number in getattr(manager, "processes", None) or ()}
    children = sys.modules["multiprocessing"].active_children() if "multiprocessing" in sys.modules else ()
    busy = (child for child in children if not child.daemon and child.pid not in idle)
    yield from (f"process {child.pid} still runs ({child.name})" for child in busy)


def _programs(address: str) -> Iterator[str]:
    """Name the children whose environment has the mock's address, where the system tells it, but Python's helpers."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or a child may end meanwhile
            for process in (Path("/proc", number) for number in listed.read_text().split()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                if address.encode() in (process / "environ").read_bytes() and "multiprocessing" not in command:
                    yield f"process {process.name} still runs ({command[:80]})"
