"""Why a test fails, in one block of at most 12 lines: what went wrong, where, what was sent, how to fix it, the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from harness.core.text.shorten import pluralize, shorten
from harness.core.text.vocabulary import Vocabulary

CAUSE_WIDTH = 120
"""The maximum length of a line of a cause."""
MAX_CAUSE_LINES = 12
"""The maximum number of lines of a cause."""
MAX_OTHERS = 5
"""How many further causes are named, the first ones."""
_MAX_WHAT_LINES = 3
_MAX_ROW_LINES = {"sent": 2, "fix": 3, "allow": 2, "expect": 2, "source": 2}
"""The most lines of a row; the first other one, as a rule `where`, gets what these leave."""
_LABEL_WIDTH = 10


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason for a failure: `what` went wrong, and rows of a label and its text; empty texts are not shown.

    A line break in a text is one in the row. `exchange` is the number of the exchange that it is about, 0 for none.
    """

    what: str
    rows: Sequence[tuple[str, str]] = ()
    exchange: int = 0


def render_cause(cause: Cause, max_lines: int = MAX_CAUSE_LINES) -> str:
    """The block of a cause: `what`, and a line or a few for each row; what is too long ends in `…`."""
    head = _wrap_lines(cause.what, CAUSE_WIDTH, _MAX_WHAT_LINES)
    rows = [(label, text) for label, text in cause.rows if text.strip()]
    others = {label: _fit_row(text, _MAX_ROW_LINES[label]) for label, text in rows if label in _MAX_ROW_LINES}
    taken = len(head) + sum(map(len, others.values())) + len(rows) - len(others) - 1
    lines = list(head)
    for label, text in rows:
        fitted = others.get(label) or _fit_row(text, max(1, max_lines - taken))
        taken += 0 if label in others else len(fitted) - 1
        lines += [f"  {label:<{_LABEL_WIDTH - 2}}{fitted[0]}", *(" " * _LABEL_WIDTH + line for line in fitted[1:])]
    return "\n".join(lines)


def render_causes(causes: Sequence[Cause], vocabulary: Vocabulary) -> str:
    """The first cause in full, the others a line each; empty without any."""
    if not causes:
        return ""
    return "\n".join([render_cause(causes[0]), *_name_others(causes[1:], vocabulary.show_more)])


def _name_others(others: Sequence[Cause], show_more: str) -> Iterator[str]:
    if others:
        yield f"and {len(others)} more; {show_more} shows them:"
    for cause in others[:MAX_OTHERS]:
        yield "  " + _wrap_lines(cause.what, CAUSE_WIDTH - 2, 1)[0]
    if (hidden := len(others) - MAX_OTHERS) > 0:
        yield f"  … {pluralize(hidden, 'other')}"


def _fit_row(text: str, max_lines: int) -> list[str]:
    """A text in at most so many lines; each line of a text of several is one line."""
    own = text.strip("\n").splitlines()
    if len(own) == 1:
        return _wrap_lines(own[0], CAUSE_WIDTH - _LABEL_WIDTH, max_lines)
    shown = own if len(own) <= max_lines else [*own[: max_lines - 1], f"… {len(own) - max_lines + 1} more"]
    return [shorten(line, CAUSE_WIDTH - _LABEL_WIDTH) for line in shown]


def _wrap_lines(text: str, width: int, max_lines: int) -> list[str]:
    return wrap(" ".join(text.split()), width, max_lines=max_lines, placeholder=" …", break_on_hyphens=False) or [""]
