"""Timings of exchanges at a server's edge: when they arrived and ended, and how much of each answer was sent.

It is kept beside the journal of a World and is in no answer. Times are unix seconds of whoever sends the answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EdgeTimes:
    """When a request `arrived`, and when the first and the last byte of its answer were handed to the socket.

    `events` is how many events of a stream went out whole, None for another answer; `size` counts the bytes that went out,
    head and framing too. The answer is `whole` when all of it went out; `left` is after how many seconds the client was gone
    before that. `connection` is the number of the connection in its process; without a network it is 0, and so is `size`.

    `event_times` are when the events went out, as many as were whole before the last byte; the others went out with that.
    """

    arrived: float
    first_byte: float | None = None
    last_byte: float | None = None
    events: int | None = None
    size: int = 0
    left: float | None = None
    connection: int = 0
    whole: bool = False
    ended: bool = False
    """Whether no more goes out: the answer is whole, the client has left, or the server has broken it off."""
    event_times: Sequence[float] = ()

    def event_time(self, index: int) -> float | None:
        """Find when an event went out to its last byte; None if it did not, and for an answer that went to no socket."""
        if index < len(self.event_times):
            return self.event_times[index]
        return self.last_byte if self.whole and self.connection else None


class EdgeRecord:
    """What is known so far of an exchange, for the sender of its answer; `stream` are the events to send.

        ARRIVED ──a part goes out──> ANSWERING ──the last part──> whole
           ├──────the client leaves──────┼──> left
           └──the server breaks it off───┴──> broken off

    `on_end` is called with it once, when one of the three ends is reached.
    """

    __slots__ = (
        "arrived",
        "connection",
        "ended",
        "event_times",
        "first_byte",
        "last_byte",
        "left",
        "on_end",
        "size",
        "stream",
        "whole",
    )

    def __init__(self, arrived: float, connection: int = 0) -> None:
        self.arrived = arrived
        self.connection = connection
        self.first_byte: float | None = None
        self.last_byte: float | None = None
        self.left: float | None = None
        self.stream: Sequence[Any] | None = None
        self.event_times: array[float] | tuple[()] = ()
        self.size = 0
        self.whole = False
        self.ended = False
        self.on_end: Callable[[EdgeRecord], object] | None = None

    def add_part(self, size: int, now: float) -> None:
        """Note that bytes of the answer went out."""
        if self.first_byte is None:
            self.first_byte = now
        self.last_byte = now
        self.size += size

    def add_events(self, count: int) -> None:
        """Note that so many events of the stream have gone out whole, those that are new with the last part."""
        new = count - len(self.event_times)
        if new > 0 and self.last_byte is not None:
            self.event_times = self.event_times or array("d")
            self.event_times.extend([self.last_byte] * new)

    @property
    def sent_events(self) -> int:
        """How many events are known to have gone out whole; those of the last part of a whole answer are not among them."""
        return len(self.event_times)

    def end(self, *, whole: bool = False, left_at: float | None = None) -> None:
        """Record why the answer ended: complete, the client has left, or the server broke off; the first call counts."""
        if self.ended:
            return
        self.ended, self.whole = True, whole
        if left_at is not None:
            self.left = max(0.0, left_at - self.arrived)
        if self.on_end:
            on_end, self.on_end = self.on_end, None
            on_end(self)

    @property
    def times(self) -> EdgeTimes:
        """The timings so far."""
        events = None if self.stream is None else len(self.stream) if self.whole else self.sent_events
        return EdgeTimes(
            self.arrived,
            self.first_byte,
            self.last_byte,
            events,
            self.size,
            self.left,
            self.connection,
            self.whole,
            self.ended,
            tuple(self.event_times),
        )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: None if name == "on_end" else getattr(self, name) for name in self.__slots__}


ReturnedAnswer = tuple[float, float, Sequence[Any] | None]
"""An answer that went to a caller in the process: when its request came, when it was returned, its events."""


class EdgeLog(Mapping[int, EdgeTimes]):
    """The times of a World's exchanges by their number; `records` are what they are made of."""

    __slots__ = ("records",)

    def __init__(self) -> None:
        self.records: dict[int, EdgeRecord | ReturnedAnswer] = {}

    def __getitem__(self, number: int) -> EdgeTimes:
        record = self.records[number]
        if isinstance(record, EdgeRecord):
            return record.times
        arrived, returned, stream = record
        events = None if stream is None else len(stream)
        return EdgeTimes(arrived, returned, returned, events, whole=True, ended=True)

    def __iter__(self) -> Iterator[int]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)
