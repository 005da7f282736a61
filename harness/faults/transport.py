"""How an answer is transmitted: in which pieces, with which line ends and comments, after which delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.delivery import Delivery, Fault, FrameForm, is_non_negative_number
from harness.core.errors import ScriptError
from harness.core.text import show
from harness.ending import TurnLine

LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
"""The line ends of server-sent events, by name; the standard allows all three."""


@dataclass(frozen=True, slots=True)
class Chunks(Fault):
    """Sends the body in pieces of `size` bytes, with 0 in a single one; without this fault each event is a piece."""

    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or not is_non_negative_number(self.size):
            raise ScriptError(f"chunks: size is {show(self.size)}. Pass a number of bytes, or 0 for a single chunk.")


@dataclass(frozen=True, slots=True)
class Framing(Fault):
    """Varies a stream as the standard allows: line ends `lf`, `crlf` or `cr`, and the rest of a `FrameForm`."""

    line_end: str = "lf"
    comment: str = ""
    fields: Sequence[str] = ()
    space: bool = True
    data_lines: int = 1
    bom: bool = False
    unended: bool = False

    def __post_init__(self) -> None:
        if self.line_end not in LINE_ENDS:
            raise ScriptError(f"framing: line_end is {show(self.line_end)}. Use one of: {', '.join(LINE_ENDS)}.")
        if not _is_line(self.comment):
            raise ScriptError(f"framing: comment is {show(self.comment)}. Pass a single line.")
        if not isinstance(self.fields, list | tuple) or not all(map(_is_line, self.fields)):
            raise ScriptError(f'framing: fields is {show(self.fields)}. Pass lines: ["id: 1", "retry: 3000"].')
        if self.data_lines not in (1, 2):
            raise ScriptError(
                f"framing: data_lines is {show(self.data_lines)}. Use 1 or 2: the data are split at the first brace."
            )
        for name in ("space", "bom", "unended"):
            if not isinstance(getattr(self, name), bool):
                raise ScriptError(f"framing: {name} is {show(getattr(self, name))}. Use True or False.")

    @property
    def form(self) -> FrameForm:
        """How the events are framed."""
        own = (self.comment, tuple(self.fields), self.space, self.data_lines, self.bom, self.unended)
        return FrameForm(LINE_ENDS[self.line_end], *own)


def _is_line(text: object) -> bool:
    return isinstance(text, str) and "\n" not in text and "\r" not in text


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """Sends nothing for `seconds` seconds, not even the headers."""

    seconds: float


def with_transport(delivery: Delivery, turn: Sequence[TurnLine]) -> Delivery:
    """Apply a turn's transport faults to a delivery; of several faults of a kind the last one counts."""
    for line in turn:
        if isinstance(line, Chunks):
            delivery = delivery._replace(chunk_size=line.size)
        elif isinstance(line, Framing):
            delivery = delivery._replace(frames=line.form)
        elif isinstance(line, Delay):
            delivery = delivery._replace(delay=line.seconds)
    return delivery
