"""Finds what tests have left running when a run ends: threads and processes that Python itself would wait for, and programs.

The run waits a moment for their requests. What only waits for work asks nothing, and is not
waited for: the idle workers of executors, and programs that do not know the mock's address.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from harness.pytest_plugin.client_origin import client_in, frames_of, is_of_project, show_line

WAIT_SECONDS = 10.0
"""How long a run waits for what its tests have left behind."""
_PAUSE_SECONDS = 0.02
_QUIET_LOOKS = 2
"""The list of a thread's children may lack one while it changes, so that one look is not enough."""
_OWN_PROGRAM = b"multiprocessing"
"""What the command of a program has that Python starts: a helper, or a process that `multiprocessing` lists itself."""


def wait_until_quiet(address: str, root: str, known: Sequence[threading.Thread]) -> list[str]:
    """Wait until nothing that tests have left can ask the mock at `address`; returns what still runs then, in words.

    Threads that are `known` are not those of tests. Files are named relative to the folder `root`.
    """
    end, quiet = time.monotonic() + WAIT_SECONDS, 0
    while True:
        busy = [*_busy_threads(root, known), *_busy_processes(), *_programs_asking(address)]
        quiet = 0 if busy else quiet + 1
        if quiet == _QUIET_LOOKS or time.monotonic() >= end:
            return busy
        time.sleep(_PAUSE_SECONDS)


def _busy_threads(root: str, known: Sequence[threading.Thread]) -> Iterator[str]:
    """Name the threads that Python waits for in the midst of the project's code, and those that ask through the SDK now."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        if thread is threading.current_thread() or thread in known or thread.ident not in frames:
            continue
        stack = frames_of(frames[thread.ident])
        own = next((frame for frame in stack if is_of_project(frame.f_code.co_filename)), None)
        # Threads of libraries idle for ever; a daemon thread of the project is meant to end with the process.
        if (own and not thread.daemon) or client_in(stack) is not None:
            yield f"thread {thread.name} still runs ({_place(own, root)})"


def _place(frame: FrameType | None, root: str) -> str:
    return show_line(frame, root) if frame else "in the SDK"


def _busy_processes() -> Iterator[str]:
    """Name the processes of `multiprocessing` that Python waits for at its end, without the idle workers of executors."""
    if (multiprocessing := sys.modules.get("multiprocessing")) is None:
        return
    # The pool of an executor waits for work until Python ends: nothing in it is late.
    managers = [thread for thread in threading.enumerate() if not getattr(thread, "pending_work_items", True)]
    idle = {number for manager in managers for number in getattr(manager, "processes", None) or ()}
    for process in multiprocessing.active_children():
        if not process.daemon and process.pid not in idle:
            yield f"process {process.pid} still runs ({process.name})"


def _programs_asking(address: str) -> Iterator[str]:
    """Name the programs whose environment leads to the mock, where the system tells the environment of a program."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for number in listed.read_text().split():
                command = _command_of(Path("/proc", number), address)
                if command:
                    yield f"process {number} still runs ({command})"


def _command_of(process: Path, address: str) -> str:
    """Read the command line of a program whose environment leads to the mock; empty for any other.

    One that is just being started has neither yet, and may be one.
    """
    with suppress(OSError):
        command = (process / "cmdline").read_bytes()
        if not command and not _has_ended(process):
            return "it is starting"
        if address.encode() in (process / "environ").read_bytes() and _OWN_PROGRAM not in command:
            return command.replace(b"\0", b" ").decode(errors="replace")[:80].strip()
    return ""


def _has_ended(process: Path) -> bool:
    """Return whether a process is a zombie: it has ended, its exit code was not collected, and it has no command line."""
    return (process / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
