"""How far a long run is: one line on a terminal that is written again and again, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time

TERMINAL_SECONDS, LOG_SECONDS = 0.5, 10.0
"""How often the line is written, on a terminal and elsewhere."""


class Progress:
    """Says on stderr how many of `total` things are done; `note` is added to each line."""

    def __init__(self, what: str, total: int) -> None:
        self.done, self.note = 0, ""
        self._what, self._total = what, total
        self._is_terminal = sys.stderr.isatty()
        self._began = self._said = time.monotonic()

    def tell(self, done: int) -> None:
        """Note that so many are done; written if it is time, or all are."""
        self.done, now = done, time.monotonic()
        if now - self._said < (TERMINAL_SECONDS if self._is_terminal else LOG_SECONDS) and done < self._total:
            return
        self._said = now
        left = (now - self._began) / max(done, 1) * (self._total - done)
        line = f"{done:,} of {self._total:,} {self._what}, {left / 60:.0f} min left{self.note}"
        ends = ("\r\x1b[K", "" if done < self._total else "\n") if self._is_terminal else ("", "\n")
        print(f"{ends[0]}{line}", end=ends[1], file=sys.stderr, flush=True)
