"""`responses-harness serve` in a process of its own: what tests say to it over sockets, and commands that ask it."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from tests.support.command_line import run_cli
from tests.support.processes import spawn

ROOT = Path(__file__).parents[3]
ASK = """
import json, os, sys, urllib.request
def ask(key=os.environ.get("OPENAI_API_KEY"), url=os.environ.get("OPENAI_BASE_URL"), **asked):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps({"model": "gpt-4.1", "input": "hi", **asked}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/responses", body, headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code
"""


def program(text: str) -> list[str]:
    """Return a command whose function `ask` sends a request."""
    return ["--", sys.executable, "-c", ASK + text]


def environment(**more: str) -> dict[str, str]:
    """Return that of this process, in which a program finds the harness."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


class Served(NamedTuple):
    """A server in a process of its own."""

    child: subprocess.Popen[str]
    port: int

    def say(self, *parts: bytes) -> socket.socket:
        """Return a connection over which these bytes were sent."""
        wire = socket.create_connection(("127.0.0.1", self.port), 20)
        for part in parts:
            wire.sendall(part)
        return wire

    def end(self, *signals: int) -> tuple[float, int, str]:
        """Send signals, each once the server has taken the one before; returns seconds, the exit code and stderr."""
        begun = time.monotonic()
        for number in signals:
            self.child.send_signal(number)
            self.wait_until_closed()
        _, errors = self.child.communicate(timeout=60)
        return time.monotonic() - begun, self.child.returncode, errors

    def wait_until_closed(self) -> None:
        """Wait until connections are refused, which is the first thing that a signal does."""
        while self.child.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                return


@contextmanager
def serving(*options: str, patch: str = "") -> Iterator[Served]:
    """`responses-harness serve` with these options on a free port; `patch` is run in its process before."""
    source = f"{patch}\nimport sys; from harness.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", source, "serve", "--port", "0", *options]
    with spawn(command, env=environment(PYTHONWARNINGS="error::ResourceWarning")) as child:
        assert child.stdout
        lines = [child.stdout.readline() for _ in range(3)]
        found = re.search(r":(\d+)", lines[0])
        assert found, child.stderr and child.stderr.read()
        yield Served(child, int(found[1]))


def serve(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `responses-harness serve` to its end in this process, with what its command prints."""
    with redirected(1) as output, redirected(2) as errors:
        ended = run_cli("serve", *arguments, **more)
        printed, told = (os.pread(stream.fileno(), 1 << 20, 0).decode() for stream in (output, errors))
    return subprocess.CompletedProcess(arguments, ended.exit_code, ended.stdout + printed, ended.stderr + told)


@contextmanager
def redirected(number: int) -> Iterator[IO[bytes]]:
    """Put a file in place of a stream of this process and of those that it starts."""
    with TemporaryFile() as file:
        before = os.dup(number)
        os.dup2(file.fileno(), number)
        try:
            yield file
        finally:
            os.dup2(before, number)
            os.close(before)


@contextmanager
def spawned(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start `responses-harness serve`, and end it with the block."""
    with spawn([sys.executable, "-m", "harness", "serve", *arguments], env=environment()) as child:
        yield child


def refused_start(*options: str) -> str:
    """Return what is printed by a server that does not start."""
    ended = serve("--port", "0", *options)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    return " ".join(ended.stderr.split())


def read_until(wire: socket.socket, end: bytes) -> bytes:
    """Return what is said up to these bytes, or all of it."""
    said = b""
    while end not in said and (more := wire.recv(65536)):
        said += more
    return said
