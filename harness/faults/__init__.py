"""Faults: a stream that is cut or paused, a request that is refused or gets no answer.

mock.script(cut(message("Once upon a time"), after=4))
mock.script(pause(message("Once"), after=3, until=gate))
mock.script(pace(message("Once upon a time"), ttft="300ms", tokens="80/s"))
mock.script(rate_limit(after="1s"), server_error(), overloaded(), hang_up(), message("At last."))

In script files a fault is the last line of its turn: `{"type": "cut", "after": 4}`.
"""

from __future__ import annotations

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
from harness.faults.pace import make_pace, parse_duration


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The connection closes after so many events; with 4.5, in the middle of the fifth.

    A stream is always cut before its last event is complete. An answer that is not a stream is cut in the middle, with 0
    before its body.
    """

    after: float

    def __post_init__(self) -> None:
        if not is_non_negative_number(self.after):
            raise ScriptError(f"cut: after is {self.after!r}. Give a number of events from 0 on, 4.5 to cut the fifth.")


@dataclass(frozen=True, slots=True)
class Refusal(Fault):
    """The request is refused as by an account with these changes; without any change it gets no answer."""

    account: Mapping[str, Any] = field(default_factory=dict)


class ScriptedRefusal(Exception):
    """The turn for a request is a refusal."""

    def __init__(self, fault: Refusal) -> None:
        super().__init__(fault)
        self.account = fault.account


def cut(turn: Any, *, after: float) -> Any:
    """A turn whose answer is cut: the connection closes after so many events, with `4.5` in the middle of one.

    A cut response is not stored, except one in the background, which goes on and can be retrieved.
    """
    return _add_fault(turn, Cut(after))


def pause(turn: Any, *, after: int | None = None, seconds: float = 0, until: Gate | str | None = None) -> Any:
    """A turn whose stream pauses after so many events, for `seconds` or `until` a gate is opened.

    Without `after` it pauses before every event. An answer that is not a stream is delayed as a whole. A gate may be
    given by its name: `mock.gate("shown").open()` opens it.
    """
    return _add_fault(turn, Pause(seconds, after, until))


def pace(turn: Any, *, ttft: str | float = 0, tokens: str | float = 0, jitter: float = 0) -> Any:
    """A turn at the pace of a model: the first token after `ttft` (`"300ms"`), then `tokens` a second (`"80/s"`).

    `jitter` is the share from 0 to 1 by which waits differ, the same in each run. An answer that is not a stream comes
    as late as its last token.
    """
    return _add_fault(turn, make_pace(ttft, tokens, jitter))


def rate_limit(after: str | float = "1s") -> Refusal:
    """A 429 instead of an answer; a retry succeeds `after` this time (seconds, or `200ms`, `1s`, `2m`)."""
    seconds = parse_duration(after)
    if seconds is None:
        raise ScriptError(f"rate_limit: after is {after!r}. Give seconds, or a text such as '200ms', '1s', '2m'.")
    return Refusal({"rate_limit": RateLimit(3, 3, 1, seconds=seconds)})


def server_error() -> Refusal:
    """A 500 instead of an answer."""
    return Refusal({"failing": True})


def overloaded() -> Refusal:
    """A 503 instead of an answer."""
    return Refusal({"overloaded": True})


def hang_up() -> Refusal:
    """No answer: the connection is closed without one. In the journal the status is 0."""
    return Refusal()


FAULTS: Registry[Callable[..., Fault]] = Registry(
    "fault",
    {
        "cut": Cut,
        "pause": Pause,
        "pace": make_pace,
        "rate_limit": rate_limit,
        "server_error": server_error,
        "overloaded": overloaded,
        "hang_up": hang_up,
    },
)
"""Every fault as the line of a turn, by its name in script files."""

NON_ITEM_LINES: Mapping[str, Callable[..., TurnLine]] = {**ENDINGS, **FAULTS}
"""Every line of a turn other than items, by its name in script files."""


def _add_fault(turn: Any, fault: Fault) -> Any:
    """A turn with one more fault; a function gets it for its result, a generator function for each yield."""
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
    """The number of events after which the answer to a turn is cut, None if it is not cut."""
    return min((line.after for line in turn if isinstance(line, Cut)), default=None)


def find_pauses(turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Sequence[Pause]:
    """The pauses of the answer to a turn; `gate` finds gates by name."""
    pauses = (line for line in turn if isinstance(line, Pause))
    return [replace(each, until=gate(each.until)) if isinstance(each.until, str) else each for each in pauses]
