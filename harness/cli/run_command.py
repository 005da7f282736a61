"""Runs a command in an environment of its own, passes signals on to it, and ends all of its processes."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep

import typer

from harness.cli.program import call_on_signals, print_note

GRACE_SECONDS = 3.0
"""Seconds that an interrupted command gets to end by itself, and again after SIGTERM."""
POLL_SECONDS = 0.1
CANNOT_RUN, NOT_FOUND = 126, 127
"""A shell's exit codes for a command that is not executable, and for one that does not exist."""
_POSIX = os.name == "posix"


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    interrupt: Callable[[], object] = lambda: None,
) -> int:
    """Run a command to its end and return its exit code, 128 + n if signal n ended it.

    `environment` contains all of its variables; `interrupt` is called once a signal to this process has been passed on.
    The command leads a process group, none of which outlives it; on a terminal it stays in the group of this process,
    so that it can read keys and the terminal interrupts both. A command that cannot be run exits with the code that a
    shell would return.
    """
    grouped, signals = _POSIX and not os.isatty(0), list[int]()
    with call_on_signals(signals.append):
        child = _start(command, environment, grouped)
        try:
            while not (_to_pass_on(signals, grouped) or _has_ended_within(child, POLL_SECONDS)):
                pass
            if child.returncode is None:
                _send(child, signals[-1], grouped)
                interrupt()
                _stop(child, grouped)
        finally:
            if grouped:
                _stop_group(child.pid)
    return 128 - child.returncode if child.returncode < 0 else child.returncode


def _start(command: Sequence[str], environment: Mapping[str, str], grouped: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=dict(environment), process_group=0 if grouped else None)
    except OSError as problem:
        print_note(f"{command[0]}: cannot be run: {problem.strerror}. Pass a command after --.")
        raise typer.Exit(NOT_FOUND if isinstance(problem, FileNotFoundError) else CANNOT_RUN) from problem


def _to_pass_on(signals: Sequence[int], grouped: bool) -> bool:
    """Return whether a signal must be passed on: a terminal interrupts the whole group by itself."""
    return any(grouped or number != signal.SIGINT for number in signals)


def _stop(child: subprocess.Popen[bytes], grouped: bool) -> None:
    """End a command that has been sent a signal, by stronger signals each time that it does not end."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if _has_ended_within(child, GRACE_SECONDS):
            return
        _send(child, number, grouped)
    child.wait()


def _stop_group(leader: int) -> None:
    """End the processes that the command has started and left behind."""
    end = monotonic() + GRACE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGTERM)
        while monotonic() < end:
            os.killpg(leader, 0)
            sleep(POLL_SECONDS / 10)
        os.killpg(leader, signal.SIGKILL)


def _send(child: subprocess.Popen[bytes], number: int, grouped: bool) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if grouped:
            os.killpg(child.pid, number)
        else:
            child.send_signal(number)


def _has_ended_within(child: subprocess.Popen[bytes], seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode is not None
