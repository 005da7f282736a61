"""How an answer is sent that is delayed or cut: after which event it pauses, and where the connection closes.

Nothing here waits: `harness.server.transport.deliver` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.core.errors import ScriptError


class Gate:
    """Holds a stream without a clock: `pause(turn, after=3, until=gate)`, and later `gate.open()`.

    Any thread may open it; once open it stays open.
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
        """Have a function called when the gate opens, at once if it is open; it may be called twice."""
        self._callbacks.append(call)
        if self.is_open:
            call()

    def remove_callback(self, call: Callable[[], object]) -> None:
        """Remove a function that `add_callback` added."""
        self._callbacks.remove(call)


class StepGate(Gate):
    """Lets go what waits, a step at a time: `step` releases what waits now, `open` everything for good."""

    def step(self) -> int:
        """Release what waits, which may come again; returns how much that was."""
        waiting = list(self._callbacks)
        for wake in waiting:
            wake()
        return len(waiting)

    @property
    def waiting(self) -> int:
        """How many answers wait."""
        return len(self._callbacks)


class Fault:
    """A fault of an answer: a line of a turn, after its items and its ending; see `harness.faults`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pause(Fault):
    """Pauses the answer for `seconds`, or `until` a gate opens: after that many events, or before each event.

    An answer that is not a stream is delayed as a whole. A gate may be given by its name in the World.
    """

    seconds: float = 0
    after: int | None = None
    until: Gate | str | None = None

    def __post_init__(self) -> None:
        if not is_non_negative_number(self.seconds):
            raise ScriptError(f"pause: seconds is {self.seconds!r}. Give a number from 0 on, such as 0.05.")
        if self.after is not None and not (isinstance(self.after, int) and is_non_negative_number(self.after)):
            raise ScriptError(f"pause: after is {self.after!r}. Give a number of events from 0 on, or leave it out.")
        if self.until is not None and not isinstance(self.until, Gate | str):
            raise ScriptError(
                f"pause: until is {self.until!r}. Give a gate: pause(turn, until=Gate()), or the name of one."
            )
        if self.until is None and not self.seconds:
            raise ScriptError("pause: it does not say how long. Give seconds=0.05, or until=Gate().")

    def applies_at(self, sent: int) -> bool:
        """Return whether the answer pauses when this many events have been sent."""
        return self.after is None or self.after == sent


@dataclass(frozen=True, slots=True)
class Pace(Fault):
    """The seconds to the first token of an answer (`ttft`), and how many `tokens` follow in a second, 0 for at once.

    Waits differ from these by up to the share `jitter`, from 0 to 1.
    """

    ttft: float = 0
    tokens: float = 0
    jitter: float = 0


class FrameForm(NamedTuple):
    """How the events of a stream are framed, where the standard of server-sent events leaves a choice.

    `line_end` ends the lines; `comment` is a line before each event; `fields` are lines in each, say `id: 1`; without
    `space` none follows the colon; the data come in `data_lines` lines. The stream begins with a `bom`, and what is
    `unended` has no empty line after its last event.
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

    `times` are seconds from the beginning, pauses not counted, before which an event is not sent, by its place.

    Before that, a `partial_share` from 0 to 1 of the bytes of `partial_event` is sent. With a status of 0 there is no
    answer at all. `resets` says that the connection does not close but is reset. Nothing is sent, not even the headers,
    for `delay` seconds. With a `chunk_size` the body goes out in pieces of so many bytes, with 0 in one; `frames` says how
    the events of a stream are framed.
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
        """List the pauses when this many events have been sent."""
        return [pause for pause in self.pauses if pause.applies_at(sent)]

    def due_at(self, index: int) -> float:
        """Return the seconds from the beginning, pauses not counted, before which the event at a place is not sent."""
        return self.times[index] if index < len(self.times) else 0


DISCONNECT_AT_END = Delivery(disconnects=True)
"""The connection closes after the events that the answer has."""


def is_non_negative_number(value: Any) -> bool:
    """Return whether a value is a finite number, 0 or more."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
