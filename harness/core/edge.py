"""Timings of exchanges at a server's edge: when they arrived and ended, and how much of each answer was sent.

These are kept beside a World's journal and never appear in an answer. Times are unix seconds of whatever sends the
answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EdgeTimes:
    """When a request `arrived`, and when the first and last byte of its answer were handed to the socket.

    `events` is how many events of a stream went out completely, None if the answer is no stream; `size` counts the
    bytes that went out, including head and framing. `whole` is true once the entire answer went out; `left` is after
    how many seconds the client disconnected before that. `connection` is the number of the connection in its process;
    without a network it is 0, and so is `size`. `event_times` holds when each event went out, for those that were
    complete before the last byte; the others went out with it.
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
    """Whether nothing more goes out: the answer is whole, the client left, or the server broke off."""
    event_times: Sequence[float] = ()

    def event_time(self, index: int) -> float | None:
        """Return when the last byte of an event went out; None if it did not, or if the answer went to no socket."""
        if index < len(self.event_times):
            return self.event_times[index]
        return self.last_byte if self.whole and self.connection else None


class EdgeRecord:
    """What is known of an exchange so far, updated by the sender of its answer; `stream` holds the events to send.

        ARRIVED ──a part goes out──> ANSWERING ──the last part──> whole
           ├──────the client leaves──────┼──> left
           └──the server breaks it off───┴──> broken off

    `on_end` is called with the record once, when one of the three ends is reached.
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
        """Record that `size` bytes of the answer went out."""
        if self.first_byte is None:
            self.first_byte = now
        self.last_byte = now
        self.size += size

    def add_events(self, count: int) -> None:
        """Record that `count` events in all have gone out completely; new ones count as sent with the last part."""
        new = count - len(self.event_times)
        if new > 0 and self.last_byte is not None:
            self.event_times = self.event_times or array("d")
            self.event_times.extend([self.last_byte] * new)

    @property
    def sent_events(self) -> int:
        """The number of events known to have gone out completely, without those in the last part of a whole answer."""
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
"""An answer returned to a caller in the same process: when its request came, when it was returned, its events."""


class EdgeLog(Mapping[int, EdgeTimes]):
    """The times of a World's exchanges by their number, computed from `records`."""

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
