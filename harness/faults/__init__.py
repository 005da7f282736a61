"""What goes wrong on the way: a stream that is cut or stands still, a request that is refused or gets no answer.

mock.script(cut(message("Once upon a time"), after=4))
mock.script(pause(message("Once"), after=3, until=gate))
mock.script(rate_limit(after="1s"), server_error(), overloaded(), hang_up(), message("At last."))

In scripts of other languages a fault is the last line of its turn: `{"type": "cut", "after": 4}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isgeneratorfunction
from typing import Any

from harness.core.account import RateLimit
from harness.core.delivery import Fault, Pause, is_non_negative_number
from harness.core.delivery import Gate as Gate
from harness.core.errors import ScriptError
from harness.core.exchange import Request
from harness.core.registry import Registry
from harness.ending import ENDINGS, TurnLine

SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(SECONDS_PER_UNIT)})")


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The connection breaks off after so many events; with 4.5, in the middle of the fifth.

    A stream is always cut before its last event is whole. An answer that is no stream ends in the middle; with 0,
    before its body.
    """

    after: float

    def __post_init__(self) -> None:
        if not is_non_negative_number(self.after):
            raise ScriptError(f"cut: after is {self.after!r}. Give a number of events from 0 on, 4.5 to cut the fifth.")


@dataclass(frozen=True, slots=True)
class Refusal(Fault):
    """The request is refused as by an account that is like this; without any change nothing is answered at all."""

    account: Mapping[str, Any] = field(default_factory=dict)


class ScriptedRefusal(Exception):
    """The turn of a request is a refusal."""

    def __init__(self, fault: Refusal) -> None:
        super().__init__(fault)
        self.account = fault.account


def cut(turn: Any, *, after: float) -> Any:
    """A turn whose answer breaks off: the connection is closed after so many events, half-way through one with `4.5`.

    What was cut is not stored, unless it is made in the background: then it goes on, and can be asked for again.
    """
    return _add_fault(turn, Cut(after))


def pause(turn: Any, *, after: int | None = None, seconds: float = 0, until: Gate | str | None = None) -> Any:
    """A turn whose stream stands still after so many events, for `seconds` or `until` a gate is opened.

    Without `after` it does so before every event. An answer that is no stream comes so much later. A gate may be told
    by its name: `mock.gate("shown").open()` opens it.
    """
    return _add_fault(turn, Pause(seconds, after, until))


def rate_limit(after: str | float = "1s") -> Refusal:
    """A 429 in place of an answer: one may try again `after` so long (seconds, or `200ms`, `1s`, `2m`)."""
    found = _DURATION.fullmatch(after) if isinstance(after, str) else None
    seconds = float(found[1]) * SECONDS_PER_UNIT[found[2]] if found else after
    if not is_non_negative_number(seconds):
        raise ScriptError(f"rate_limit: after is {after!r}. Give seconds, or a text such as '200ms', '1s', '2m'.")
    return Refusal({"rate_limit": RateLimit(3, 3, 1, seconds=float(seconds))})


def server_error() -> Refusal:
    """A 500 in place of an answer."""
    return Refusal({"failing": True})


def overloaded() -> Refusal:
    """A 503 in place of an answer."""
    return Refusal({"overloaded": True})


def hang_up() -> Refusal:
    """No answer: the connection is closed, and nothing was said. The journal has it with status 0."""
    return Refusal()


FAULTS: Registry[Callable[..., Fault]] = Registry(
    "fault",
    {
        "cut": Cut,
        "pause": Pause,
        "rate_limit": rate_limit,
        "server_error": server_error,
        "overloaded": overloaded,
        "hang_up": hang_up,
    },
)
"""Every fault as the line of a turn, by the name under which scripts in other languages know it."""

NON_ITEM_LINES: Mapping[str, Callable[..., TurnLine]] = {**ENDINGS, **FAULTS}
"""Every line of a turn that is no item, by name."""


def _add_fault(turn: Any, fault: Fault) -> Any:
    """A turn with one more fault; of a function, what it returns, of a generator function, each of its yields."""
    if isgeneratorfunction(turn):
        return _add_fault_to_each(turn, fault)
    if callable(turn):
        return lambda request: _add_fault(turn(request), fault)
    return [*turn, fault] if isinstance(turn, list | tuple) else [turn, fault]


def _add_fault_to_each(turn: Callable[[Request], Generator[Any, Request, None]], fault: Fault) -> Any:
    def each(request: Request) -> Generator[Any, Request, None]:
        turns = turn(request)
        try:
            line = next(turns)
            while True:
                request = yield _add_fault(line, fault)
                line = turns.send(request)
        except StopIteration:
            return

    return each


def find_cut(turn: Sequence[TurnLine]) -> float | None:
    """After how many events the answer to a turn breaks off, the earliest; None when it does not."""
    return min((line.after for line in turn if isinstance(line, Cut)), default=None)


def find_pauses(turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Sequence[Pause]:
    """Where the answer to a turn stands still; `gate` knows the gates by name."""
    pauses = (line for line in turn if isinstance(line, Pause))
    return [replace(each, until=gate(each.until)) if isinstance(each.until, str) else each for each in pauses]
