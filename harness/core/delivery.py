"""How an answer goes out that is not sent at once and whole: where it breaks off, where and how long it stands still.

Nothing here waits: `harness.server.faulty_delivery` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.core.errors import ScriptError


class Gate:
    """What a stream can be held at without a clock: `pause(turn, after=3, until=gate)`, and later `gate.open()`.

    Any thread may open it; once open it stays so, and holds nothing any more.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._callbacks: list[Callable[[], object]] = []

    def open(self) -> None:
        """Let everything go on that waits here."""
        self.is_open = True
        for wake in list(self._callbacks):
            wake()

    def add_callback(self, call: Callable[[], object]) -> None:
        """Call this when the gate opens, at once if it is open; it may be called twice."""
        self._callbacks.append(call)
        if self.is_open:
            call()

    def remove_callback(self, call: Callable[[], object]) -> None:
        """Do not call this any more."""
        self._callbacks.remove(call)


class Fault:
    """What goes wrong with an answer: a line of a turn, after its items and its ending; see `harness.faults`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pause(Fault):
    """The answer stands still for so many `seconds`, or `until` a gate opens: after so many events, else before each.

    An answer that is no stream comes later, as a whole. A gate may be told by its name: then it is one of the World's.
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
        """Whether the answer stands still here, when so many events have been sent."""
        return self.after is None or self.after == sent


class Delivery(NamedTuple):
    """The `pauses` of an answer, and whether the connection is `cut` at its end.

    `rest` is the event of which, before that, a `share` from 0 to 1 of the bytes still goes out. A status of 0 says
    that there is no answer at all.
    """

    pauses: Sequence[Pause] = ()
    disconnects: bool = False
    partial_event: Mapping[str, Any] | None = None
    partial_share: float = 0


DISCONNECT_AT_END = Delivery(disconnects=True)
"""The connection breaks off at the end of what is there."""


def is_non_negative_number(value: Any) -> bool:
    """Whether a value is a finite number from 0 on."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
