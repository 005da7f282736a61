"""Coding agents of the command line, unmodified, with the mock as their model."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from coding_programs import PATHS

from harness.faults import cut, http_error
from harness.items import function_call, message

pytestmark = pytest.mark.harness(client="strict", losses="strict")
DESCRIBED = {"description": "Run it."}
SHELLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "codex": ("exec_command", "cmd", {}),
    "copilot": ("bash", "command", DESCRIBED),
    "opencode": ("bash", "command", DESCRIBED),
    "kilo": ("bash", "command", DESCRIBED),
    "cline": ("run_commands", "commands", {}),
    "pi": ("bash", "command", {"timeout": 60}),
}
"""The shell tool of each agent, the argument with the command, and what else it requires."""
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SERVER = str(Path(__file__).with_name("mcp_server.py"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that an agent works in."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder


@pytest.fixture
def agent(mock: Any, work: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Configure an agent: `agent("codex")("Fix it.")`; pi needs the Node of the environment."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    modules = request.config.getoption("--node-modules")
    return lambda name, **options: mock.coding_agent(name, folder=work, program=modules / PATHS[name], **options)


def shell(name: str, command: str) -> Any:
    """Return a call of the shell, as the model of an agent makes it."""
    tool, argument, others = SHELLS[name]
    return function_call(tool, {argument: [command] if argument == "commands" else command, **others})


def outputs(exchange: Any) -> list[str]:
    """Return the outputs of calls in a request."""
    return [
        str(item["output"]) for item in exchange.request.body["input"] if item.get("type") == "function_call_output"
    ]


@pytest.mark.parametrize("name", SHELLS)
def test_a_tool_loop(mock, agent, name):
    test = shell(name, "pytest --version; echo fixed > a.txt")
    mock.script(test, shell(name, "git commit -m fixed"), message("Done."))
    run = agent(name)("Fix the test.")
    assert run.exit_code == 0
    assert "Done." in run.output
    assert run.files == {"a.txt": "fixed\n"}
    assert run.ran("pytest").before("git commit")


@pytest.mark.parametrize("name", ["codex", "copilot", "opencode", "pi"])
def test_parallel_calls(mock, agent, name):
    mock.script([shell(name, "echo one"), shell(name, "echo two")], message("Done."))
    run = agent(name)("Say both.")
    assert [command.text for command in run.commands] == ["echo one", "echo two"]
    assert "one" in run.commands[0].output
    assert "two" in run.commands[1].output


@pytest.mark.parametrize("name", ["codex", "copilot", "cline", "pi"])
def test_a_refused_request(mock, agent, name):
    mock.script(http_error(400, "No such thing.", code="invalid_value"))
    run = agent(name)("Fix it.")
    assert "No such thing." in run.output + run.errors
    assert len(mock.exchanges) == 1


@pytest.mark.parametrize("name", ["codex", "copilot", "cline", "pi"])
def test_a_rate_limit_with_retry_after(mock, agent, name):
    mock.script(
        http_error(429, "Slow down.", code="rate_limit_exceeded", headers={"retry-after": "1"}), message("Done.")
    )
    run = agent(name)("Fix it.")
    assert run.exit_code == 0
    assert len(mock.exchanges) == 2


@pytest.mark.parametrize("name", ["codex", "copilot", "pi"])  # Cline asks again, or ends with an error
def test_a_stream_that_breaks(mock, agent, name):
    mock.script(cut(message("This is cut off."), after=3), message("Done."))
    run = agent(name)("Fix it.")
    assert run.exit_code == 0
    assert "Done." in run.output


@pytest.mark.parametrize("name", ["codex", "copilot", "pi"])
def test_a_session_that_is_resumed(mock, agent, name):
    mock.script(message("The word is zebra."), message("It was zebra."))
    ask = agent(name)
    ask("Name a word.")
    run = ask("Which was it?", resume=True)
    assert run.exit_code == 0
    assert "zebra" in json.dumps(mock.exchanges[-1].request.body["input"])


@pytest.mark.parametrize("name", ["codex", "copilot", "cline", "pi"])
def test_the_rules_of_the_project_reach_the_model(mock, agent, work, name):
    (work / "AGENTS.md").write_text("Always answer in capitals.\n")
    mock.script(message("DONE."))
    agent(name)("Fix it.")
    assert "Always answer in capitals." in json.dumps(mock.exchanges[0].request.body)


@pytest.mark.parametrize("name", ["codex", "copilot", "opencode"])
def test_a_skill_of_the_project_reaches_the_model(mock, agent, work, name):
    skill = work / ".agents" / "skills" / "stripes" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: stripes\ndescription: Use it to count stripes.\n---\nCount twice.\n")
    mock.script(message("Done."))
    agent(name)("Fix it.")
    told = json.dumps(mock.exchanges[0].request.body)
    assert "Use it to count stripes." in told
    assert "Count twice." not in told


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("codex", function_call("add", {"a": 1, "b": 2}, namespace="mcp__sums")),
        ("copilot", function_call("sums-add", {"a": 1, "b": 2})),
        ("opencode", function_call("sums_add", {"a": 1, "b": 2})),
    ],
)
def test_a_tool_of_an_mcp_server(mock, agent, name, call):
    mock.script(call, message("It is 3."))
    run = agent(name, mcp={"sums": [sys.executable, SERVER]})("Add 1 and 2.")
    assert run.exit_code == 0
    assert "the sum is 3" in outputs(mock.exchanges[-1])[0]


@pytest.mark.parametrize("name", ["codex", "pi"])
def test_an_image(mock, agent, work, name):
    (work / "dot.png").write_bytes(base64.b64decode(DOT))
    mock.script(message("A dot."))
    run = agent(name)("What is it?", images=[work / "dot.png"])
    assert run.exit_code == 0
    assert "input_image" in json.dumps(mock.exchanges[0].request.body["input"])


@pytest.mark.parametrize(
    ("name", "after"), [("copilot", [message("I may not.")]), ("opencode", [])], ids=["copilot", "opencode"]
)
def test_a_command_without_approval_does_not_run(mock, agent, name, after):
    mock.script(shell(name, "echo changed > a.txt"), *after)  # OpenCode ends its run there, Copilot tells the model
    run = agent(name, approves=False)("Fix it.")
    assert run.files == {}


def test_a_sandbox_lets_a_command_read_and_not_write(mock, agent):
    mock.script(shell("codex", "cat a.txt; echo changed > a.txt"), message("I may not."))
    run = agent("codex", approves=False)("Fix it.")
    assert run.files == {}
    [command] = run.commands
    assert "hello" in command.output
    assert "Read-only file system" in command.output


def test_a_long_session_is_compacted(mock, agent):
    mock.script(shell("codex", "seq 1 3000"), message("It counted."), message("Done."))
    run = agent("codex", arguments=["-c", "model_auto_compact_token_limit=4000"])("Count.")
    assert run.exit_code == 0
    *_, asked, compacted = (exchange.request.body["input"] for exchange in mock.exchanges)
    assert "CONTEXT CHECKPOINT COMPACTION" in json.dumps(asked)
    assert "It counted." in json.dumps(compacted)
    assert not [item for item in compacted if item["type"] != "message"]


def test_the_command_serve_configures_it(tmp_path, request):
    program = request.config.getoption("--node-modules") / PATHS["codex"]
    (tmp_path / "script.yaml").write_text("script:\n- message: Done.\n")
    served = [sys.executable, "-m", "harness", "serve", "--for", "codex", "--script", "script.yaml", "--"]
    command = [*served, str(program), "exec", "--skip-git-repo-check", "Fix it."]
    ended = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "Done." in ended.stdout
    assert "1 request, nothing is wrong" in ended.stderr
