"""A process that computes and never comes back to its event loop is ended by the system, whatever holds it.

The time is that of its processor: a process that is stopped, or waits for somebody who reads what it prints, does not hang.
"""

from __future__ import annotations

import signal

HANG_SECONDS = 300.0
"""Seconds of computing after which a worker hangs, unless its event loop has turned.

Requests are not that dear: measured, 0.3 s for each MiB of a body in small items, of which 512 MiB are taken, and 1.1 s for
each MiB in the journal of a World that is judged.
"""
HUNG = -signal.SIGPROF
"""The exit code of a process that was ended so."""


def end_after(seconds: float) -> None:
    """End this process after so many seconds of computing, in place of what was said before; never with 0."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
