"""Kills a worker that computes without returning to its event loop, whatever the cause.

The system's timer counts CPU time, so a process that is stopped or waits for a slow reader does not count as hung.
"""

from __future__ import annotations

import signal

HANG_SECONDS = 300.0
"""CPU seconds after which a worker counts as hung, unless its event loop has run meanwhile.

Requests cost far less: measured were 0.3 s for each MiB of a body of small items, of which 512 MiB are accepted, and
1.1 s for each MiB in the journal of a World that is judged.
"""
HUNG = -signal.SIGPROF
"""The exit code of a worker killed by the timer."""


def end_after(seconds: float) -> None:
    """Have the system kill this process after `seconds` of CPU time from now, replacing any earlier limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
