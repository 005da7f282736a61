"""Child processes of tests, killed with their descendants at the end of their block, and what tests wait for."""

import concurrent.futures.thread  # noqa: F401  (adds hooks to fork, which must not happen while a child is started)
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SECONDS = 60
"""How long a child may run."""
ENDING_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


@contextmanager
def spawn(
    command: Sequence[str | Path], *, setup: Callable[[], object] | None = None, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a child process in a session of its own, and kill the session's processes at the end of the block.

    SIGHUP, SIGINT and SIGTERM end it as usual, even where pytest ignores them (`nohup`, a job in the background);
    `setup` runs in the child before the program. Its output is read as text from pipes, unless `options` of `Popen`
    say otherwise; it has no input.
    """

    def prepare() -> None:
        for number in ENDING_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        if setup:
            setup()

    ignored = any(signal.getsignal(number) is signal.SIG_IGN for number in ENDING_SIGNALS)
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child: subprocess.Popen[str] = subprocess.Popen(
        [str(part) for part in command],
        start_new_session=True,
        preexec_fn=prepare if setup or ignored else None,
        **{**streams, **options},
    )
    try:
        yield child
    finally:
        kill_group(child)


def kill_group(child: subprocess.Popen[str]) -> None:
    """Kill a child that leads a group of processes, and its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(SECONDS)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe:
            pipe.close()


def run(
    command: Sequence[str | Path], *, timeout: float = SECONDS, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a child process to its end, at most `timeout` seconds; with `check` it must exit with 0."""
    with spawn(command, **options) as child:
        output, errors = child.communicate(timeout=timeout)
    assert not check or child.returncode == 0, f"{command} exited with {child.returncode}:\n{output}\n{errors}"
    return subprocess.CompletedProcess(child.args, child.returncode, output, errors)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run, the oldest first."""
    listed = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True, check=False)
    return sorted(map(int, listed.stdout.split()))


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def wait_until(condition: Callable[[], object], seconds: float = SECONDS) -> bool:
    """Return whether a condition comes true within so many seconds."""
    end = time.monotonic() + seconds
    while not (met := bool(condition())) and time.monotonic() < end:
        time.sleep(0.01)
    return met
