"""Describes exceptions raised by the user's code: the exception, the line, and the frames that led there."""

from __future__ import annotations

import contextlib
import re
import sys
from traceback import StackSummary, walk_tb
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from harness.core.errors import HarnessError, Problem, ScriptError

INTERRUPTS = (KeyboardInterrupt, GeneratorExit)
"""What ends the harness itself; any other exception of user code is its mistake, even from `sys.exit`."""
MAX_FRAMES = 4
"""The number of innermost frames shown."""
_PACKAGE = __file__[: -len("core/text/raised.py")]
"""The folder of the harness, whose frames are not shown; frames of its `with` blocks belong to `contextlib`."""


class Place(NamedTuple):
    """A line of the user's code; an empty `file` means no place."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def short(self) -> str:
        """The place without the directory: `test_x.py:12`."""
        return f"{_file_name(self.file)}:{self.line}"


NOWHERE = Place()


def find_calling_place() -> Place:
    """Return the line of user code that is calling the harness."""
    frame: FrameType | None = sys._getframe(1)
    while frame and (frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_filename == contextlib.__file__):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame else NOWHERE


def describe_raised(problem: BaseException) -> Problem:
    """Describe an exception, `KeyError: 'city', at /app/test_x.py:12`, with a line for each of the last frames.

    The place is the last line in the file where the user's code began. An error of the harness keeps its own message,
    without the name of its class.
    """
    kind = "" if isinstance(problem, HarnessError) else type(problem).__name__
    first, *more = ": ".join(filter(None, [kind, str(problem)])).splitlines() or [""]
    frames = user_frames(problem)
    place = next((frame for frame in reversed(frames) if frame.filename == frames[0].filename), None)
    head = f"{first}, at {place.filename}:{place.lineno}" if place else first
    shown = [
        f"at {_file_name(frame.filename)}:{frame.lineno}, in {frame.name}{f': {frame.line}' if frame.line else ''}"
        for frame in frames[-MAX_FRAMES:]
    ]
    return Problem(head, [*(f"  {line}" for line in shown), *(f"  | {line}" for line in more)])


def raise_as_script_error(problem: BaseException, what: str, where: str = "") -> NoReturn:
    """Raise an exception of user code as a ScriptError with its place and frames; `what` precedes `KeyError: …`.

    Interrupts, and errors of the harness that user code did not cause, are raised unchanged; `where` precedes an error
    of the harness that user code did cause.
    """
    if isinstance(problem, INTERRUPTS) or (isinstance(problem, HarnessError) and not user_frames(problem)):
        raise problem
    said, frames, _ = describe_raised(problem)
    raise ScriptError(f"{where if isinstance(problem, HarnessError) else what}{said}", frames) from problem


def describe_code(code: Any) -> str:
    """Describe a function or generator by name and place: `model (test_x.py:12)`."""
    own = getattr(code, "__code__", None) or getattr(code, "gi_code", None)
    name = getattr(code, "__name__", type(code).__name__)
    return f"{name} ({_file_name(own.co_filename)}:{own.co_firstlineno})" if own else name


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def user_frames(problem: BaseException) -> StackSummary:
    """Return the frames between the harness and the line that raised, outermost first."""
    frames = StackSummary.extract(walk_tb(problem.__traceback__))
    return StackSummary.from_list(
        [frame for frame in frames if not frame.filename.startswith(_PACKAGE) and frame.filename != contextlib.__file__]
    )
