"""How an answer arrives: in which pieces, with which line ends and comments, after which delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.delivery import Delivery, Fault, is_non_negative_number
from harness.core.errors import ScriptError
from harness.ending import TurnLine

LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
"""The line ends of server-sent events, by their names; the standard allows all three."""


@dataclass(frozen=True, slots=True)
class Chunks(Fault):
    """The body goes out in pieces of `size` bytes, with 0 in a single one; without any each event is a piece."""

    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or not is_non_negative_number(self.size):
            raise ScriptError(f"chunks: size is {self.size!r}. Give a number of bytes, or 0 for all in one piece.")


@dataclass(frozen=True, slots=True)
class Framing(Fault):
    """The line ends of a stream, `lf`, `crlf` or `cr`, and a comment before each of its events."""

    line_end: str = "lf"
    comment: str = ""

    def __post_init__(self) -> None:
        if self.line_end not in LINE_ENDS:
            raise ScriptError(f"framing: line_end is {self.line_end!r}. It is one of: {', '.join(LINE_ENDS)}.")
        if not isinstance(self.comment, str) or "\n" in self.comment or "\r" in self.comment:
            raise ScriptError(f"framing: comment is {self.comment!r}. Give a text of one line.")


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """Nothing is sent for so long, not even the headers."""

    seconds: float


def describe_transport(turn: Sequence[TurnLine]) -> dict[str, Any]:
    """The members of a `Delivery` that these faults of a turn set."""
    found: dict[str, Any] = {}
    for line in turn:
        if isinstance(line, Chunks):
            found["chunk_size"] = line.size
        elif isinstance(line, Framing):
            found |= {"line_end": LINE_ENDS[line.line_end], "comment": line.comment}
        elif isinstance(line, Delay):
            found["delay"] = line.seconds
    return found


def with_transport(delivery: Delivery, turn: Sequence[TurnLine]) -> Delivery:
    """A delivery as the faults of a turn change it."""
    return delivery._replace(**describe_transport(turn))
