"""What reaches gpt-6.2-sol of its reasoning in coding agents of the command line: their rows in the table of clients."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from harness.core.errors import ConfigError
from harness.core.exchange import Request
from harness.drive.coding_agents import CodingAgent
from harness.ending import usage
from harness.examine.adapter import Declaration
from harness.examine.case import ObservedRun
from harness.examine.cases.kept_reasoning import MODEL
from harness.examine.checks import keeps_reasoning
from harness.examine.results import Cell, ClientResult
from harness.examine.run_cases import ANSWER
from harness.examine.task import Outcome, Task
from harness.items import custom_tool_call, function_call, message, reasoning
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.clients.cells import found
from tests.clients.environments import prepared
from tests.clients.suites.coding_programs import PATHS

Call = Callable[[str], Any]
"""Builds the call of an agent's shell with a command."""
SUITE = "coding_agents"
SHORTENED = "state/reasoning-of-a-shortened-history"
FULL, SHORT = 1_900_000, 3_000
"""The input tokens of an answer that leaves no room in the context of these agents, and of one that does."""


def call_javascript(command: str) -> Any:
    """Call the shell from JavaScript, as Codex lets this model do."""
    return custom_tool_call("exec", f"text(await tools.exec_command({{cmd: '{command}'}}))", namespace="functions")


def call_bash(command: str, **others: Any) -> Any:
    """Call the shell by a function."""
    return function_call("bash", {"command": command, **others})


def call_commands(command: str) -> Any:
    """Call the shell by a function of several commands."""
    return function_call("run_commands", {"commands": [command]})


class Program(NamedTuple):
    """A coding agent: its name, its package of npm, and its shell."""

    label: str
    package: str
    shell: Call


_describing = partial(call_bash, description="Run it.")
PROGRAMS: Mapping[str, Program] = {
    "codex": Program("Codex", "@openai/codex", call_javascript),
    "copilot": Program("Copilot CLI", "@github/copilot", _describing),
    "opencode": Program("OpenCode", "opencode-ai", _describing),
    "kilo": Program("Kilo", "@kilocode/cli-linux-x64", _describing),
    "cline": Program("Cline", "@cline/cli-linux-x64", call_commands),
    "pi": Program("pi", "@earendil-works/pi-coding-agent", partial(call_bash, timeout=60)),
}


Model = Callable[[Request], Iterator[Any]]


def _loop(shell: Call) -> Model:
    def model(request: Request) -> Iterator[Any]:
        yield [reasoning(), shell("echo one")]
        yield [reasoning(), shell("echo two")]
        while True:
            yield [reasoning(), message("Done.")]

    return model


def _fill(shell: Call) -> Model:
    def model(request: Request) -> Iterator[Any]:
        yield [reasoning(), shell("echo one")]
        yield usage([reasoning(), message("Done.")], input_tokens=FULL)
        while True:
            yield usage([reasoning(), message("It is done.")], input_tokens=SHORT)

    return model


SCRIPTS: Mapping[str, tuple[Callable[[Call], Model], Sequence[str]]] = {
    "state/reasoning-in-a-loop": (_loop, ("Do both.",)),
    "state/reasoning-of-a-session": (_loop, ("Do both.", "And?")),
    SHORTENED: (_fill, ("Do it.", "And?")),
}
"""What the model says in each case, and the prompts; those after the first resume the session."""


def examine_agents(names: Sequence[str]) -> Iterator[ClientResult]:
    """Run the cases with coding agents in the environment of their suite."""
    (suite,) = found([SUITE])
    environment = next(environment for environment in suite.environments if environment.npm)
    folder = prepared(environment)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"  # pi needs its Node
    with serve_in_thread(MockApi(keys=())) as server:
        for name in names:
            program = PROGRAMS[name]
            began = time.monotonic()
            cells = []
            for case, (script, prompts) in SCRIPTS.items():
                mock = server.api.open(f"sk-{name}-{case}", case, server.base_url)
                mock.script(script(program.shell))
                agent = CodingAgent(name, mock, program=folder / "node_modules" / PATHS[name], model=MODEL)
                cells.append(_run(case, mock, agent, prompts))
            (release,) = (part.rpartition("@")[2] for part in environment.npm if part.startswith(f"{program.package}@"))
            declared = Declaration(client=f"{program.label} {release}")
            yield ClientResult(
                declared=declared, adapter=name, seconds=time.monotonic() - began, complete=True, cells=tuple(cells)
            )


def _run(case: str, mock: Mock, agent: CodingAgent, prompts: Sequence[str]) -> Cell:
    """Run the prompts of a case, one after the other, and check what the model got."""
    none = Cell(case=case, severity="should", mode="stream,stateless", verdict="not applicable")
    try:
        for number, prompt in enumerate(prompts):
            run = agent(prompt, resume=number > 0)
    except ConfigError:  # it cannot resume a session
        return none
    if case == SHORTENED and not is_shortened(mock):
        return none
    seen = ObservedRun(Task(prompts=tuple(prompts)), Outcome(texts=[run.output]), mock, ())
    reasons = tuple(keeps_reasoning()(seen))
    ended = ANSWER if run.exit_code == 0 else f"it ends with {run.exit_code}"
    return replace(none, verdict="warn" if reasons else "pass", reasons=reasons, ended=ended)


def is_shortened(mock: Mock) -> bool:
    """Return whether the last request has fewer items than one before: OpenCode and pi do not know how much has room."""
    *before, last = [len(exchange.request.body["input"]) for exchange in mock.exchanges]
    return last < max(before)
