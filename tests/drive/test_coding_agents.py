"""A coding agent of the command line whose model is the mock, here one that reads Codex's configuration."""

import json
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness import Mock
from harness.core.errors import ConfigError
from harness.drive import CodingAgent
from harness.drive.coding_agents import CODING_AGENTS, Setup, find_coding_agent
from harness.items import function_call, message

AGENT = """
    import json, os, subprocess, sys, tomllib, urllib.request
    from pathlib import Path

    config = tomllib.loads(Path(os.environ["CODEX_HOME"], "config.toml").read_text())
    provider = config["model_providers"][config["model_provider"]]
    key = os.environ[provider["env_key"]]
    shell = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {}}, "strict": False}
    items = [{"role": "user", "content": sys.argv[-1]}]
    while True:
        body = {"model": config["model"], "input": items, "tools": [shell], "store": False}
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        asked = urllib.request.Request(provider["base_url"] + "/responses", json.dumps(body).encode(), headers)
        said = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked))["output"]
        items += said
        calls = [item for item in said if item["type"] == "function_call"]
        for call in calls:
            ran = subprocess.run(json.loads(call["arguments"])["cmd"], shell=True, capture_output=True, text=True)
            items.append({"type": "function_call_output", "call_id": call["call_id"], "output": ran.stdout})
        if not calls:
            print(said[-1]["content"][0]["text"])
            sys.exit(3 if "fail" in sys.argv[-1] else 0)
"""


def write_program(file: Path, text: str) -> Path:
    file.write_text(f"#!{sys.executable}\n{dedent(text)}")
    file.chmod(file.stat().st_mode | stat.S_IEXEC)
    return file


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return write_program(tmp_path / "codex", AGENT)


@pytest.fixture
def codex(mock: Mock, program: Path) -> Callable[..., Any]:
    return mock.coding_agent("codex", program=program)


def shell(command: str) -> Any:
    return function_call("exec_command", {"cmd": command})


def test_a_run_has_what_the_agent_did(mock: Mock, codex: Any) -> None:
    (codex.folder / "old.txt").write_text("old")
    mock.script(shell("echo new > a.txt; rm old.txt; echo tested"), shell("echo committed"), message("Done."))
    run = codex("Fix it.")
    assert (run.exit_code, run.output, run.errors) == (0, "Done.\n", "")
    assert run.files == {"a.txt": "new\n", "old.txt": None}
    assert [(command.text.split(";")[-1].strip(), command.output) for command in run.commands] == [
        ("echo tested", "tested\n"),
        ("echo committed", "committed\n"),
    ]
    assert run.ran("tested").before("committed")


def test_the_files_of_a_run_are_those_that_it_wrote_without_those_of_git(mock: Mock, codex: Any) -> None:
    for name in ("a.txt", "b.txt", "node_modules/c.txt", ".git/d.txt"):
        (codex.folder / name).parent.mkdir(exist_ok=True)
        (codex.folder / name).write_text("old")
    (codex.folder / "nowhere").symlink_to("missing")
    mock.script(shell("echo new > .git/d.txt; printf new > b.txt; mkdir x; printf y > x/y"), message("Done."))
    assert codex("Fix it.").files == {"b.txt": "new", "x/y": "y"}


def test_a_file_that_vanishes_while_the_folder_is_read_is_no_file(
    mock: Mock, codex: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_bytes = Path.read_bytes

    def read(file: Path) -> bytes:
        if file.name == "a.txt":
            file.unlink()
        return read_bytes(file)

    mock.script(shell("printf new > a.txt"), message("Done."))
    monkeypatch.setattr(Path, "read_bytes", read)
    assert codex("Fix it.").files == {}


def test_a_file_written_twice_in_one_tick_of_the_clock_is_seen(mock: Mock, codex: Any) -> None:
    (codex.folder / "a.txt").write_text("old")
    mock.script(shell("touch -r a.txt kept; printf new > a.txt; touch -r kept a.txt; rm kept"), message("Done."))
    assert codex("Fix it.").files == {"a.txt": "new"}


def test_a_run_has_only_its_own_commands_and_exit_code(mock: Mock, codex: Any) -> None:
    mock.script(shell("echo one"), message("1"), message("2"))
    assert codex("One.").ran("echo one")
    run = codex("Two, and fail.")
    assert not run.ran("echo one")
    assert run.exit_code == 3


def test_a_program_that_does_not_end_is_given_up_and_the_last_that_it_printed_is_quoted(
    mock: Mock, tmp_path: Path
) -> None:
    loud = "import time\nprint('x' * 50_000 + ' stuck here', flush=True)\ntime.sleep(60)"
    codex = mock.coding_agent("codex", program=write_program(tmp_path / "loud", loud), timeout=1.0)
    with pytest.raises(AssertionError, match=r"(?s)codex did not end within 1 s\..* stuck here$") as problem:
        codex("Wait.")
    assert len(str(problem.value)) < 3_000


def test_a_file_that_nobody_may_read_ends_no_run(mock: Mock, codex: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read_bytes = Path.read_bytes

    def read(file: Path) -> bytes:
        if file.name == "secret.txt":
            raise PermissionError(13, "Permission denied", str(file))
        return read_bytes(file)

    (codex.folder / "secret.txt").write_text("old")
    monkeypatch.setattr(Path, "read_bytes", read)
    mock.script(shell("printf longer > secret.txt; printf new > a.txt"), message("Done."))
    assert codex("Fix it.").files == {"a.txt": "new"}


def test_a_program_that_is_not_there_is_named_with_its_package(mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="Install it: npm install -g @openai/codex; or pass its path: program="):
        mock.coding_agent("codex")


def test_another_wire_is_named() -> None:
    with pytest.raises(
        ConfigError,
        match=r"Use one of: codex, copilot, opencode, kilo, pi, cline, code-puppy, mini\. Claude Code speaks Anthropic's",
    ):
        find_coding_agent("claude")


def test_without_the_fixture_there_is_the_class(mock: Mock) -> None:
    with pytest.raises(ConfigError, match=r"use harness\.drive\.CodingAgent"):
        Mock().coding_agent("codex")
    assert CodingAgent.__module__ == "harness.drive.coding_agents"


def configured(name: str, home: Path, **options: Any) -> tuple[str, dict[str, str]]:
    """Configure an agent; return everything that it is told, and the variables among that."""
    variables = CODING_AGENTS[name].configure(Setup(home, "http://127.0.0.1:2/v1", "sk-1", **options))
    written = "".join(file.read_text() for file in home.rglob("*") if file.is_file())
    return written + json.dumps(variables), variables


SERVERS = {"remote": "http://127.0.0.1:1/mcp", "local": ["python", "server.py"]}


@pytest.mark.parametrize("name", ["codex", "copilot", "opencode", "kilo"])
def test_mcp_servers_are_configured(tmp_path: Path, name: str) -> None:
    told, variables = configured(name, tmp_path, mcp=SERVERS)
    assert "http://127.0.0.1:1/mcp" in told
    assert "server.py" in told
    assert "http://127.0.0.1:2/v1" in told
    assert variables["HOME"] == str(tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("codex", ["danger-full-access", "read-only"]),
        ("copilot", ["COPILOT_ALLOW_ALL", "COPILOT_OFFLINE"]),
        ("opencode", ['"permission": "allow"', '"bash": "ask"']),
    ],
)
def test_commands_need_approval_on_demand(tmp_path: Path, name: str, words: list[str]) -> None:
    approving, asking = words
    assert approving in configured(name, tmp_path / "a")[0]
    told, _ = configured(name, tmp_path / "b", approves=False)
    assert (approving in told, asking in told) == (False, True)


def test_opencode_starts_nothing_else(tmp_path: Path) -> None:
    told, _ = configured("opencode", tmp_path)
    assert all(f'"{name}": false' in told for name in ("autoupdate", "lsp", "formatter"))


@pytest.mark.parametrize("name", ["pi", "cline", "code-puppy", "mini"])
@pytest.mark.parametrize(
    ("setup", "problem"), [({"mcp": SERVERS}, "has no MCP servers"), ({"approves": False}, "approves every command")]
)
def test_what_a_coding_agent_cannot_do_is_reported(tmp_path: Path, name: str, setup: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} {problem}"):
        configured(name, tmp_path, **setup)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"mcp": {"sums": []}}, r"mcp: sums is \[\]\. Pass the command that starts it"),
        ({"mcp": {"sums": 3}}, r"mcp: sums is 3\. Pass the command"),
        ({"mcp": ["sums"]}, r"mcp = \['sums'\]: pass the servers by name"),
        ({"folder": __file__}, "is not a folder"),
        ({"timeout": 0}, "timeout = 0: pass a number of seconds above 0"),
        ({"timeout": "x"}, "timeout = 'x': pass a number"),
        ({"arguments": "--x"}, "arguments = '--x': pass a list"),
    ],
)
def test_what_an_agent_cannot_run_with_is_named(mock: Mock, program: Path, given: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        mock.coding_agent("codex", program=program, **given)


def test_the_folder_of_an_agent_is_made(mock: Mock, program: Path, tmp_path: Path) -> None:
    assert mock.coding_agent("codex", program=program, folder=tmp_path / "a/b").folder == tmp_path / "a/b"
    assert (tmp_path / "a/b").is_dir()


def test_names_are_quoted_in_the_configuration_of_codex(tmp_path: Path) -> None:
    setup = Setup(tmp_path, "http://localhost/v1", "sk-a", 'a"b', mcp={"my sums.v1": ["sums"]})
    CODING_AGENTS["codex"].configure(setup)
    config = tomllib.loads((tmp_path / ".codex/config.toml").read_text())
    assert (config["model"], config["mcp_servers"]) == ('a"b', {"my sums.v1": {"command": "sums", "args": []}})


@pytest.mark.parametrize("name", ["cline", "code-puppy", "mini"])
def test_images_and_sessions_that_a_coding_agent_does_not_have_are_reported(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} takes no images: leave out images="):
        CODING_AGENTS[name].arguments("Go.", ["a.png"], False)
    with pytest.raises(ConfigError, match=f"{name} resumes no session: leave out resume=True"):
        CODING_AGENTS[name].arguments("Go.", [], True)


@pytest.mark.parametrize("name", ["cline", "code-puppy", "mini"])
def test_the_address_is_in_the_files_or_the_variables(tmp_path: Path, name: str) -> None:
    told, _ = configured(name, tmp_path, model="gpt-5.6-sol")
    assert "http://127.0.0.1:2/v1" in told
    assert "gpt-5.6-sol" in told
    assert CODING_AGENTS[name].arguments("Go.", [], False)[-1] == "Go."


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("codex", ["exec", "resume", "--last", "--skip-git-repo-check", "--image=a.png", "Go."]),
        ("copilot", ["--continue", "--attachment", "a.png", "--prompt", "Go."]),
        ("opencode", ["run", "--continue", "Go.", "--file", "a.png"]),
        ("kilo", ["run", "--continue", "Go.", "--file", "a.png"]),
        ("pi", ["--print", "--continue", "@a.png", "Go."]),
    ],
)
def test_a_session_goes_on_and_images_are_passed(name: str, line: list[str]) -> None:
    assert CODING_AGENTS[name].arguments("Go.", ["a.png"], True) == line
