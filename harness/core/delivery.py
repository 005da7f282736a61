"""How an answer is delayed or cut, and when and how much of it was sent.

Nothing here waits or sends; `harness.server.transport.deliver` does.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.core.errors import ScriptError
from harness.core.text import show


class Gate:
    """Holds back a stream without a clock: `pause(turn, after=3, until=gate)`, and later `gate.open()`.

    A gate may be opened from any thread and stays open.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._callbacks: list[Callable[[], object]] = []

    def open(self) -> None:
        """Release everything that waits for this gate."""
        self.is_open = True
        for wake in list(self._callbacks):
            wake()

    def add_callback(self, call: Callable[[], object]) -> None:
        """Register a function to call when the gate opens, at once if it is open; it may be called twice."""
        # Add first, then check: another thread may open the gate in between.
        self._callbacks.append(call)
        if self.is_open:
            call()

    def remove_callback(self, call: Callable[[], object]) -> None:
        """Remove a function registered by `add_callback`."""
        self._callbacks.remove(call)


class StepGate(Gate):
    """A gate that releases waiting answers step by step: `step` releases those waiting now, `open` all for good."""

    def step(self) -> int:
        """Release the answers waiting now, which may wait here again later; returns how many there were."""
        waiting = list(self._callbacks)
        for wake in waiting:
            wake()
        return len(waiting)

    @property
    def waiting(self) -> int:
        """The number of waiting answers."""
        return len(self._callbacks)


class Fault:
    """A fault in an answer: an entry of a turn, after its items and its ending; see `harness.faults`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pause(Fault):
    """Pauses an answer for `seconds`, or `until` a gate opens: once `after` that many events, or before each event.

    An answer that is not a stream is delayed as a whole. `until` may also be the name of a gate in the World.
    """

    seconds: float = 0
    after: int | None = None
    until: Gate | str | None = None

    def __post_init__(self) -> None:
        if not is_non_negative_number(self.seconds):
            raise ScriptError(f"pause: seconds is {show(self.seconds)}. Pass a non-negative number, such as 0.05.")
        if self.after is not None and not (isinstance(self.after, int) and is_non_negative_number(self.after)):
            raise ScriptError(
                f"pause: after is {show(self.after)}. Pass a non-negative number of events, or leave it out."
            )
        if self.until is not None and not isinstance(self.until, Gate | str):
            raise ScriptError(
                f"pause: until is {show(self.until)}. Pass a gate: pause(turn, until=Gate()), or the name of one."
            )
        if self.until is None and not self.seconds:
            raise ScriptError("pause: no duration. Pass seconds=0.05, or until=Gate().")

    def applies_at(self, sent: int) -> bool:
        """Return whether the answer pauses when `sent` events have been sent."""
        return self.after is None or self.after == sent


@dataclass(frozen=True, slots=True)
class Pace(Fault):
    """The pace of an answer: seconds to the first token (`ttft`), then `tokens` per second, 0 for all at once.

    `jitter`, from 0 to 1, is the share by which each wait may vary.
    """

    ttft: float = 0
    tokens: float = 0
    jitter: float = 0


class FrameForm(NamedTuple):
    """How the events of a stream are framed, where the standard for server-sent events leaves a choice.

    `line_end` ends each line; `comment` is a line before each event; `fields` are extra lines in each event, such as
    `id: 1`. Without `space` the colon is not followed by a space. The data of an event is split into `data_lines`
    lines. With `bom` the stream begins with a byte order mark; `unended` omits the empty line after the last event.
    """

    line_end: str = "\n"
    comment: str = ""
    fields: Sequence[str] = ()
    space: bool = True
    data_lines: int = 1
    bom: bool = False
    unended: bool = False


class Delivery(NamedTuple):
    """The `pauses` of an answer, and whether the server `disconnects` at its end.

    `times` holds, for each event, the seconds from the beginning, pauses not counted, before which it is not sent.

    Before the disconnect, `partial_share` (0 to 1) of the bytes of `partial_event` is sent. With a status of 0 there is
    no answer at all. If `resets`, the connection is reset instead of closed. Nothing is sent, not even the headers, for
    `delay` seconds. With a `chunk_size` the body is sent in pieces of that many bytes, 0 for a single piece; `frames`
    says how the events of a stream are framed.
    """

    pauses: Sequence[Pause] = ()
    disconnects: bool = False
    partial_event: Mapping[str, Any] | None = None
    partial_share: float = 0
    times: Sequence[float] = ()
    resets: bool = False
    delay: float = 0
    chunk_size: int | None = None
    frames: FrameForm = FrameForm()

    def pauses_at(self, sent: int) -> list[Pause]:
        """Return the pauses that apply when `sent` events have been sent."""
        return [pause for pause in self.pauses if pause.applies_at(sent)]

    def due_at(self, index: int) -> float:
        """Return the earliest time of the event at `index`: seconds from the beginning, pauses not counted."""
        return self.times[index] if index < len(self.times) else 0


DISCONNECT_AT_END = Delivery(disconnects=True)
"""Closes the connection after the last event of the answer."""


def is_non_negative_number(value: Any) -> bool:
    """Return whether a value is a finite number, 0 or more."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


@dataclass(frozen=True, slots=True)
class SendTimes:
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


class SendRecord:
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

    def __init__(self, arrived: float, connection: int) -> None:
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
        self.on_end: Callable[[SendRecord], object] | None = None

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
    def times(self) -> SendTimes:
        """The timings so far."""
        events = None if self.stream is None else len(self.stream) if self.whole else self.sent_events
        return SendTimes(
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


class SendLog(Mapping[int, SendTimes]):
    """The times of a World's exchanges by their number, computed from `records`."""

    __slots__ = ("records",)

    def __init__(self) -> None:
        self.records: dict[int, SendRecord | ReturnedAnswer] = {}

    def __getitem__(self, number: int) -> SendTimes:
        record = self.records[number]
        if isinstance(record, SendRecord):
            return record.times
        arrived, returned, stream = record
        events = None if stream is None else len(stream)
        return SendTimes(arrived, returned, returned, events, whole=True, ended=True)

    def __iter__(self) -> Iterator[int]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)
