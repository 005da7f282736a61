"""Arbitrates between a server's connections and callers in the same process: never both at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Presence:
    """Counts the connections of a server; a connection that becomes a WebSocket is never uncounted.

    NOBODY ──arrive──> CONNECTED (while any connection is open) ──the last one leaves──> NOBODY
       └──call_alone──> CALLED ──it returns──> NOBODY; connections that arrive meanwhile wait
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def arrive(self) -> None:
        """Count a new connection; blocks while `call_alone` runs."""
        with self._lock:
            self._count += 1

    def leave(self) -> None:
        """Remove a connection from the count."""
        with self._lock:
            self._count -= 1

    def call_alone(self, call: Callable[[], T]) -> T | None:
        """Call a function in this thread if no connection is open; else return None."""
        with self._lock:
            return None if self._count else call()
