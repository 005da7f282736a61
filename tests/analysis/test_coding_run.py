"""The commands of a coding agent, and claims about their order."""

from typing import Any

import pytest

from harness.analysis.call_ledger import CodingRun, ShellCommand, list_commands
from harness.core.exchange import Answer, Exchange, Request


def exchange(number: int, input: list[dict[str, Any]], output: list[dict[str, Any]], status: int = 200) -> Exchange:
    request = Request("POST", "/responses", body={"model": "gpt-5.4", "input": input}, operation="POST /responses")
    return Exchange(number, request, Answer(status, {"object": "response", "id": f"resp_{number}", "output": output}))


def call(id: str, arguments: str, name: str = "bash") -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def output(id: str, text: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": id, "output": text}


@pytest.mark.parametrize(
    ("item", "command"),
    [
        (call("c", '{"command":"ls -l"}'), "ls -l"),
        (call("c", '{"cmd":"ls"}', "exec_command"), "ls"),
        (call("c", '{"command":["bash","-lc","ls"]}', "shell"), "bash -lc ls"),
        ({"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls", "-a"]}}, "ls -a"),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls", "pwd"]}}, "ls\npwd"),
    ],
)
def test_a_command_is_read_from_the_call_of_any_shell(item: dict[str, Any], command: str) -> None:
    (listed,) = list_commands([exchange(1, [], [item]), exchange(2, [item, output("c", "fine")], [])])
    assert listed == ShellCommand(command, "fine")


@pytest.mark.parametrize("item", [call("c", '{"path":"a"}', "read"), call("c", "{", "bash"), {"type": "message"}])
def test_other_calls_are_no_commands(item: dict[str, Any]) -> None:
    assert list_commands([exchange(1, [], [item])]) == []


def test_a_command_that_was_never_answered_has_no_output() -> None:
    refused = exchange(2, [output("c", "fine")], [], status=400)
    assert list_commands([exchange(1, [], [call("c", '{"command":"ls"}')]), refused]) == [ShellCommand("ls")]


RUN = CodingRun(0, "", "", {}, [ShellCommand("pytest -q"), ShellCommand("git add ."), ShellCommand("git commit -m x")])


@pytest.mark.parametrize(
    ("first", "second", "holds"),
    [
        ("pytest", "git commit", True),
        ("git commit", "pytest", False),
        ("pytest", "ruff", False),
        ("ruff", "pytest", False),
    ],
)
def test_the_order_of_two_commands(first: str, second: str, holds: bool) -> None:
    assert bool(RUN.ran(first).before(second)) is holds


def test_a_claim_shows_what_ran() -> None:
    assert repr(RUN.ran("git commit").before("pytest")) == (
        'ran "git commit" before "pytest": no; it ran\n  1. pytest -q\n  2. git add .\n  3. git commit -m x'
    )
    assert repr(CodingRun(0, "", "", {}, []).ran("ls")) == 'ran "ls": no; it ran no command'
