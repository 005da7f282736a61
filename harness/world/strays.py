"""Requests whose keys lead to no World: one log for all Worlds of a server, read when a World is judged."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from math import inf
from typing import NamedTuple

from harness.core.exchange import Stray

MAX_STRAYS = 1_000
"""The number of requests without a World that are kept; the newest are."""
MAX_SHOWN = 100
"""The number of those that a World shows; the newest are."""
MAX_BODY = 16 * 1024
"""The largest body, in bytes, kept of such a request; its headers suffice to identify the sender."""


class StrayLog:
    """The newest requests without a World; `number` is that of the latest.

    Numbers of another `epoch` are unrelated to those of this one.
    """

    def __init__(self) -> None:
        self.kept: deque[tuple[int, Stray]] = deque(maxlen=MAX_STRAYS)
        self.number = 0
        self.epoch = ""

    def add(self, stray: Stray) -> None:
        """Keep a request, without its body if that is large."""
        request = stray.request
        if len(request.raw) > MAX_BODY or (request.body and not request.raw):
            stray = stray._replace(request=request._replace(body=None, raw=b""))
        self.number += 1
        self.kept.append((self.number, stray))

    def restart(self, epoch: str = "", number: int = 0) -> None:
        """Drop all requests and continue counting from `number`."""
        self.kept.clear()
        self.epoch, self.number = epoch, number


NO_STRAYS = StrayLog()
"""The log of a World without a server."""


class HeardStray(NamedTuple):
    """A request without a World: its number in the log, and how many exchanges of the World came before; None: all."""

    number: int
    before: int | None
    stray: Stray


class HeardStrays:
    """The requests of a log that came during the life of a World.

    Adding a request to the log costs a World nothing: the World records at each of its own exchanges how many have
    come.
    """

    __slots__ = ("_epoch", "_first", "_last", "_log", "_marks")

    def __init__(self, log: StrayLog) -> None:
        self._log = log
        self._epoch, self._first, self._last = log.epoch, log.number, inf
        self._marks: list[tuple[int, int]] = []

    @property
    def number(self) -> int:
        """The number of the latest request."""
        return self._log.number

    def note(self, exchange_count: int) -> None:
        """Record the log's number at an exchange of the World, which follows `exchange_count` others."""
        if self._log.epoch != self._epoch:
            self._epoch, self._first = self._log.epoch, 0
            self._marks.clear()
        number = self._log.number
        if number > (self._marks[-1][0] if self._marks else self._first):
            self._marks.append((number, exchange_count))
            del self._marks[:-MAX_SHOWN]

    def end(self) -> None:
        """Stop listening."""
        self._last = self._log.number

    def read(self) -> list[HeardStray]:
        """Return the requests that are still kept, oldest first."""
        if not self._log.kept:
            return []
        is_same = self._log.epoch == self._epoch
        first, marks = (self._first, self._marks) if is_same else (0, [])
        noted, counts = [number for number, _ in marks], [*(count for _, count in marks), None]
        return [
            HeardStray(number, counts[bisect_left(noted, number)], stray)
            for number, stray in self._log.kept
            if first < number <= self._last
        ]
