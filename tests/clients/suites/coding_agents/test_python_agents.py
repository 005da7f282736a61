"""Coding agents that are installed from PyPI, unmodified, with the mock as their model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.faults import http_error
from harness.items import function_call, message

pytestmark = pytest.mark.harness(client="strict", losses="strict")
SHELLS = {"code-puppy": "shell", "mini": "bash"}
"""The shell tool of each agent."""


@pytest.fixture(params=SHELLS)
def name(request: pytest.FixtureRequest) -> str:
    """A coding agent, by the name of its program."""
    return str(request.param)


def ask(mock: Any, name: str) -> Any:
    """Run an agent, which is beside the interpreter, in a folder with a file."""
    agent = mock.coding_agent(name, program=Path(sys.executable).with_name(name))
    (agent.folder / "a.txt").write_text("hello\n")
    return agent("Fix the test.")


def shell(name: str, command: str) -> Any:
    """Return a call of the shell."""
    return function_call(SHELLS[name], {"command": command})


def end(name: str) -> Any:
    """Return the turn that ends a run: mini ends with a command."""
    return shell(name, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") if name == "mini" else message("Done.")


def test_a_loop_of_tools(mock, name):
    mock.script(shell(name, "pytest --version; echo fixed > a.txt"), shell(name, "git commit -m fixed"), end(name))
    run = ask(mock, name)
    assert run.exit_code == 0
    assert run.files == {"a.txt": "fixed\n"}
    assert run.ran("pytest").before("git commit")


def test_a_rate_limit(mock, name):
    slow = http_error(429, "Slow down.", code="rate_limit_exceeded", headers={"retry-after": "1"})
    mock.script(slow, end(name))
    assert ask(mock, name).exit_code == 0
    assert len(mock.exchanges) == 2
