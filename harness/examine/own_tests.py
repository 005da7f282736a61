"""Cases as pytest tests: what `responses-harness examine --write-test` writes, and what such a test calls."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from textwrap import indent

from harness.api.http.dialects import API_ROOTS
from harness.core.errors import COMMAND
from harness.examine.adapter import parse_mode
from harness.examine.adapters import ADAPTERS, command_for, split_command
from harness.examine.case import CASES, Check, ClientCase, ObservedRun
from harness.examine.client_process import ClientProcess
from harness.examine.task import Outcome, Task
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
    client = ClientProcess(split_command(command) if command else command_for(adapter))
    try:
        return client.do(task, seconds).outcome
    finally:
        client.end()


_NO_NAME = re.compile(r"\W+")
_HEAD = f'''"""Cases of what the API may do, as tests of a client; `{COMMAND} examine --write-test` wrote them."""

from __future__ import annotations

import pytest
from {__name__} import run_case

CLIENT = dict({{client}})
'''


def render_tests(
    cases: Mapping[str, Sequence[str]], known: Mapping[str, ClientCase], adapter: str, command: str
) -> str:
    """Render a file with a test for each case id, in these modes, with the client of an adapter or a command."""
    client = f"adapter={json.dumps(adapter)}" if adapter else f"command={json.dumps(command)}"
    tests = (_render_test(known[id], modes) for id, modes in cases.items())
    return "\n\n".join([_HEAD.format(client=client), *tests])


def _render_test(case: ClientCase, modes: Sequence[str]) -> str:
    allowed = [
        f"{option}={json.dumps(list(ids))}"
        for option, ids in (("refusals", case.refused), ("losses", case.losses))
        if ids
    ]
    allowed += ['unused="allow"'] if case.spare else []
    lines = [
        *([f"@pytest.mark.harness({', '.join(allowed)})"] if allowed else []),
        f'@pytest.mark.parametrize("mode", {json.dumps(list(modes))})',
        f"def test_{_NO_NAME.sub('_', case.id)}(mock, mode):",
        indent(_docstring(case), "    "),
        f"    run_case(mock, {json.dumps(case.id)}, mode, **CLIENT)",
    ]
    return "\n".join(lines) + "\n"


def _docstring(case: ClientCase) -> str:
    lines = (
        f"{case.title} ({case.severity}).",
        "",
        f"The API: {case.does}",
        f"Source: {case.source}",
        f"Due: {case.shows}",
    )
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""'
