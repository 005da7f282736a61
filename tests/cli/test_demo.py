"""`responses-harness demo`: two agents and a refusal, the same with each SDK, without a network."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.demo import REFUSAL_RULE, run_demo
from harness.contract.rule import RULES
from harness.core.errors import install_command
from harness.server.mock_api import MockApi
from tests.support.checked import accept_everything
from tests.support.command_line import run_beside, run_cli


def check(said: str, sdk: str) -> None:
    lines = said.splitlines()
    assert lines[:5] == [
        f"Two agents, run by {sdk}: Ship v2.",
        "  1  200  planner Ship v2. → function_call transfer_to_ops {}",
        '  2  200  ops     {"assistant": "ops"} → function_call deploy {"ref":"v2"}',
        "  3  200  ops     v2 is live → Deployed v2.",
        "The answer: Deployed v2.",
    ]
    assert "  4  400  client  Is it ready? → invalid_request_error" in lines
    assert "       says   Invalid value: 'input_file'. Supported values are: 'output_text' and 'refusal'." in lines
    assert "       where  input[1].content[0]" in lines
    assert f"       fix    {RULES[REFUSAL_RULE].fix}" in lines
    assert lines[-1] == "  5  200  client  Is it ready? → Yes, the plan is ready."


@pytest.mark.slow
def test_it_runs_as_a_command_needs_no_environment_and_prints_the_same_every_time() -> None:
    with run_beside("demo") as child:
        output, problems = child.communicate(timeout=60)
    assert (child.returncode, problems) == (0, "")
    check(output, "openai-agents")
    assert run_cli("demo").stdout == output


def test_without_openai_agents_it_runs_with_openai(absent: Callable[[str], None]) -> None:
    absent("agents")
    result = run_cli("demo")
    assert result.exit_code == 0
    check(result.stdout, "openai")


def test_without_any_sdk_it_says_what_to_install(absent: Callable[[str], None]) -> None:
    absent("openai")
    result = run_cli("demo")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"responses-harness: the demo needs openai: {install_command('openai')}\n")


def test_with_an_sdk_that_is_too_old_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, "openai", '__version__ = "1.50.0"\n', monkeypatch)
    result = run_cli("demo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the demo needs openai 1.66 or newer: openai 1.50.0, which is installed, has no Responses" in result.stderr


@pytest.mark.parametrize("theirs", ["", "from openai import DoesNotExist\n"])
def test_other_agents_than_those_of_the_sdk_are_not_used(
    theirs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may have a package of that name, and openai-agents may not fit the installed `openai`."""
    pretend(tmp_path, "agents", theirs, monkeypatch)
    result = run_cli("demo")
    assert result.exit_code == 0
    check(result.stdout, "openai")


def test_a_mock_that_is_too_kind_fails_it(absent: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    absent("agents")
    accept_everything(monkeypatch)
    result = run_cli("demo")
    assert result.exit_code == 1
    assert result.stderr == (
        "responses-harness: the mock accepted an assistant turn with an input_file; rule assistant_content is not held.\n"
    )


def test_it_reaches_no_host_but_its_own(absent: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    connected: list[Any] = []
    connect = socket.socket.connect
    monkeypatch.setattr(
        socket.socket, "connect", lambda self, address: (connected.append(address), connect(self, address))[1]
    )
    absent("agents")
    assert [text.plain for text in run_demo(MockApi())][-1].endswith("Yes, the plan is ready.")
    assert {address[0] for address in connected} == {"127.0.0.1"}


def pretend(folder: Path, package: str, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another package in place of an installed one."""
    (folder / f"{package}.py").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, package, sys)  # so that the pretended one is forgotten even if none was imported
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package look as if it were not installed."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)
