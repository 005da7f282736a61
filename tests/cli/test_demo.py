"""`responses-harness demo`: two agents and a refusal, the same with each SDK, without a network."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Callable
from typing import Any

import pytest

from harness.contract.check import CheckedRequest
from harness.contract.rule import RULES
from harness.server.demo import REFUSAL_RULE, run_demo
from harness.server.mock_api import MockApi
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
    assert 'pip install "responses-harness[openai]"' in result.stderr


def test_a_mock_that_is_too_kind_fails_it(absent: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    absent("agents")
    monkeypatch.setattr("harness.world.api_call.check_request", lambda request, world: CheckedRequest(None, request))
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


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a distribution look as if it were not installed."""
    find = importlib.util.find_spec

    def hide(name: str) -> None:
        for module in ("harness.server.demo", "harness.core.installation"):
            monkeypatch.setattr(f"{module}.find_spec", lambda asked: None if asked == name else find(asked))

    return hide
