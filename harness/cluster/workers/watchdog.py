"""Ends a worker that computes without returning to its event loop, whatever keeps it busy.

The system's timer counts the process's CPU time: a process that is stopped, or that waits for a slow reader, does not hang.
"""

from __future__ import annotations

import signal

HANG_SECONDS = 300.0
"""CPU seconds after which a worker is taken to hang, unless its event loop has turned.

Requests cost far less: measured, 0.3 s for each MiB of a body of small items, of which 512 MiB are accepted, and 1.1 s for
each MiB in the journal of a World that is judged.
"""
HUNG = -signal.SIGPROF
"""The exit code of a worker that the timer has ended."""


def end_after(seconds: float) -> None:
    """Let the system end this process after `seconds` of CPU time from now, which replaces any earlier limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
