"""Runs a case, or a user's own task, in a test with the fixture `mock`, and reports what the client did wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from harness.api.http.dialects import API_ROOTS
from harness.examine.adapters import ADAPTERS, command_for, split_command
from harness.examine.case import CASES, Check, ObservedRun
from harness.examine.client_process import ClientProcess
from harness.examine.mode import parse_mode
from harness.examine.outcome import Outcome
from harness.examine.task import Task
from harness.examine.tool_server import serve_tools
from harness.examine.worker import load
from harness.world.mock import Mock

RUN = "test"


def run_case(mock: Mock, id: str, mode: str, adapter: str = "", command: str = "") -> None:
    """Run a case of the catalogue. AssertionError with a line for everything that a correct client does differently."""
    import harness.examine.cases  # noqa: F401  (registers the cases)

    case = CASES.find(id)
    case.script(mock)
    expect(run_task(mock, case.task, mode, adapter, command, case.seconds), *case.checks, fails=case.fails)


def run_task(
    mock: Mock, task: Task, mode: str, adapter: str = "", command: str = "", seconds: float = 20
) -> ObservedRun:
    """Run a task against the mock with an adapter, or the program of a command; return what the client showed and did.

    `mode` is, for example, `stream,chain`. A Python adapter runs in this process, a command in its own, for at most
    `seconds`.
    """
    way = parse_mode(mode)
    mock.world.dialect = way.dialect
    base_url = mock.azure_endpoint + API_ROOTS[way.dialect]
    with serve_tools() as tools:
        offered = way.lead(tools.offer(RUN, task), base_url, mock.api_key)
        outcome = _run(offered, adapter, command, seconds)
        return ObservedRun(offered, outcome, mock, tools.close(RUN))


def expect(seen: ObservedRun, *checks: Check, fails: bool = False) -> None:
    """Raise AssertionError with a line for everything that a correct client would have shown or done differently.

    Unless the case `fails`, this includes an error that ended the task.
    """
    error = seen.outcome.error
    wrong = [f"the task ended in an error: {error}"] if error is not None and not fails else []
    wrong += [line for check in checks for line in check(seen)]
    if wrong:
        raise AssertionError("\n".join(wrong))


def _run(task: Task, adapter: str, command: str, seconds: float) -> Outcome:
    target = ADAPTERS.get(adapter, adapter)
    if not command and ":" in target:
        return asyncio.run(load(target).run(task))
    with _started(split_command(command) if command else command_for(adapter)) as client:
        return client.do(task, seconds).outcome


@contextmanager
def _started(words: list[str]) -> Iterator[ClientProcess]:
    client = ClientProcess(words)
    try:
        yield client
    finally:
        client.end()
