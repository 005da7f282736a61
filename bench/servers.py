"""Starts the servers under load, each a child process that is ended by its own pid."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.wire import TEXT, Captured

ROOT = Path(__file__).parent.parent
AIMOCK = "@copilotkit/aimock"
AIMOCK_VERSION = "1.43.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "responses-harness-bench"


class SkipError(Exception):
    """Raised if a server cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Server:
    name: str
    port: int
    pid: int

    def cpu(self) -> float | None:
        """Return the CPU seconds so far, user and system; None without /proc."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait_for(port: int, child: subprocess.Popen[bytes], name: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.005)
    raise SkipError(f"{name} is skipped: it does not listen (exit code {child.poll()}; see stderr)")


@contextmanager
def serving(name: str, command: Sequence[str], port: int) -> Iterator[Server]:
    """Run a child process that listens on `port` during a `with` block."""
    env = {**os.environ, "NODE_ENV": "production"}
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for(port, child, name)
        yield Server(name, port, child.pid)
    finally:
        end(child)


def write_script(folder: Path) -> Path:
    """Write the script of our server, for `--script`, and return its file."""
    script = folder / "bench.yaml"
    script.write_text(f"script: [{TEXT!r}]\nrepeat: true\n")
    return script


@contextmanager
def ours(folder: Path) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "harness", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with serving("ours", [*command, "--script", str(write_script(folder))], port) as server:
        yield server


@contextmanager
def bare(answers: Mapping[str, Captured], folder: Path) -> Iterator[Server]:
    file = folder / "answers.json"
    file.write_text(json.dumps({kind: asdict(answer) for kind, answer in answers.items()}))
    port = free_port()
    command = [sys.executable, "-m", "bench.bare", str(port), str(file)]
    with serving("bare", command, port) as server:
        yield server


def aimock_cli() -> Path:
    """Return the file of aimock's command, installing it into the user's cache if necessary."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise SkipError("aimock is skipped: it needs node and npm")
    package = CACHE / "node_modules" / AIMOCK
    manifest = package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text())["version"] != AIMOCK_VERSION:
        CACHE.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(CACHE)]
        try:
            subprocess.run([*install, f"{AIMOCK}@{AIMOCK_VERSION}"], check=True, timeout=60)
        except subprocess.SubprocessError as why:
            raise SkipError(f"aimock is skipped: npm cannot install {AIMOCK}@{AIMOCK_VERSION}") from why
    return package / "dist" / "cli.js"


@contextmanager
def aimock(folder: Path) -> Iterator[Server]:
    """Run aimock with its defaults, except for its chunks: as our deltas, so that both send the same events."""
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": [{"match": {}, "response": {"content": TEXT}}]}))
    port = free_port()
    flags = ["--port", str(port), "--fixtures", str(fixtures), "--chunk-size", str(len(TEXT.split()[0]) + 1)]
    with serving("aimock", ["node", str(aimock_cli()), *flags], port) as server:
        yield server
