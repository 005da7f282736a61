"""Waits at the end of a run, for a moment, for what tests have left running: its requests are late, and fail the run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from harness.pytest_plugin.client_origin import client_in, frames_of, is_of_project, show_line

WAIT_SECONDS = 10.0
"""How long a run waits for what its tests have left behind."""


def wait_until_quiet(address: str, root: str, known: Sequence[threading.Thread]) -> list[str]:
    """Wait until nothing that tests have left can ask the mock at `address`; returns what still runs then, in words.

    Threads that are `known` are not those of tests. Files are named relative to the folder `root`.
    """
    end = time.monotonic() + WAIT_SECONDS
    while (busy := [*_threads(root, known), *_processes(), *_programs(address)]) and time.monotonic() < end:
        time.sleep(0.02)
    return busy


def _threads(root: str, known: Sequence[threading.Thread]) -> Iterator[str]:
    """Name the threads that Python waits for in the midst of the project's code, and those that ask through the SDK now."""
    frames = sys._current_frames()
    others = (threading.current_thread(), *known)
    for thread in (thread for thread in threading.enumerate() if thread not in others):
        stack = frames_of(frames[thread.ident]) if thread.ident in frames else ()
        ours = next((frame for frame in stack if is_of_project(frame.f_code.co_filename)), None)
        # Threads of libraries idle for ever; a daemon thread of the project is meant to end with the process.
        if (ours and not thread.daemon) or client_in(stack) is not None:
            yield f"thread {thread.name} still runs ({show_line(ours, root) if ours else 'in the SDK'})"


def _processes() -> Iterator[str]:
    """Name the processes of `multiprocessing` that Python waits for; the workers of an executor idle until it ends."""
    managers = [thread for thread in threading.enumerate() if not getattr(thread, "pending_work_items", True)]
    idle = {number for manager in managers for number in getattr(manager, "processes", None) or ()}
    children = sys.modules["multiprocessing"].active_children() if "multiprocessing" in sys.modules else ()
    busy = (child for child in children if not child.daemon and child.pid not in idle)
    yield from (f"process {child.pid} still runs ({child.name})" for child in busy)


def _programs(address: str) -> Iterator[str]:
    """Name the children whose environment has the mock's address, where the system tells it, but Python's helpers."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or a child may end meanwhile
            for process in (Path("/proc", number) for number in listed.read_text().split()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                if address.encode() in (process / "environ").read_bytes() and "multiprocessing" not in command:
                    yield f"process {process.name} still runs ({command[:80]})"
