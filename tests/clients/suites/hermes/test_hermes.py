"""A chat UI talks to a server that speaks the Responses API: what its model is sent grows by what was said, no more."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from harness.drive import Chat, linear
from harness.examine.own_tests import run_case
from harness.items import function_call, message

pytestmark = pytest.mark.harness(refusals=["outside_the_api", "unknown_url"])  # hermes-agent tries many paths

PLAN = function_call("todo", {"todos": [{"id": "1", "content": "Find the reports", "status": "pending"}]})
QUESTIONS = ("Plan the release.", "Who reads the reports?", "And who signs them?")
ANSWERS = ("One task is planned.", "The auditors read them.", "The director signs.")

HERMES = Path(sys.executable).with_name("hermes")
RIGHT = Path(__file__).with_name("right_server.py")
KEY = "sk-server-under-test-0123456789"
SECONDS = 90
"""How long a server may take to start: a new installation compiles its modules first."""


class Address(NamedTuple):
    """Where a server under test listens."""

    base_url: str
    api_key: str


@pytest.fixture
def server(mock, tmp_path) -> Iterator[Address]:
    port = free_port()
    command, environment = started_as(mock, tmp_path, port)
    with (tmp_path / "output.txt").open("w") as output:
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_for(port, process, tmp_path / "output.txt")
            yield Address(f"http://127.0.0.1:{port}/v1", KEY)
        finally:
            process.kill()
            process.wait()


def started_as(mock, home: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of the server; a proxy that does not exist keeps hermes-agent from other hosts."""
    alone = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **alone}
    if not HERMES.exists():
        upstream = {"OPENAI_BASE_URL": mock.base_url, "OPENAI_API_KEY": mock.api_key}
        return [sys.executable, str(RIGHT), str(port)], environment | upstream
    (home / "config.yaml").write_text(yaml.safe_dump(configuration(mock)))
    platform = {"API_SERVER_ENABLED": "true", "API_SERVER_PORT": str(port), "API_SERVER_KEY": KEY}
    return [str(HERMES), "gateway", "run"], {**environment, "HERMES_HOME": str(home), **platform}


def configuration(mock) -> dict:
    """Return a named provider that speaks the Responses API, and one tool that needs nothing."""
    upstream = {"name": "mock", "base_url": mock.base_url, "api_key": mock.api_key, "api_mode": "codex_responses"}
    return {
        "model": {"default": "gpt-5", "provider": "custom:mock", "context_length": 400_000},
        "custom_providers": [{**upstream, "model": "gpt-5"}],
        "platform_toolsets": {"api_server": ["todo"]},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
    }


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen, output: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            urlopen(f"http://127.0.0.1:{port}/health", timeout=SECONDS).close()
        except (URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"the server under test did not start:\n{output.read_text()}")


def talk(mock, server, mode, stream=False):
    mock.script(PLAN, *map(message, ANSWERS))
    with Chat(server.base_url, server.api_key, model="hermes-agent", mode=mode, stream=stream) as chat:
        assert [chat.say(question).text.strip() for question in QUESTIONS] == list(ANSWERS)
    linear(mock.exchanges, chat.texts)


def test_chain(mock, server):
    talk(mock, server, "chain")


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_chain_and_replay(mock, server, stream):
    talk(mock, server, "both", stream)


def test_replay(mock, server):
    """Nothing is empty or doubled, but typed items of the chat UI never reach the model: the history is built anew."""
    talk(mock, server, "replay")


def test_case(mock, server, monkeypatch):
    monkeypatch.setenv("SERVER_UNDER_TEST", f"{server.base_url} {server.api_key}")
    run_case(mock, "state/replay", "plain,replay", "hermes_adapter:ServedAdapter")
