"""The server under test: hermes-agent where it is installed, else the right one of this folder. Its upstream is the mock."""

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
