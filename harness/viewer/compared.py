"""What became of a case, compared with an earlier one: the part of the viewer's data that two runs have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ComparedVerdict = Literal["better", "same", "worse"]


@dataclass(frozen=True, slots=True)
class ChangedExchange:
    """An exchange that differs from that at the same place of its lane: its `number`, and the one that it had `earlier`.

    `at` is the first place that differs, in the request (`input[2].content`) or else in the answer (`status`), with the
    value that `was` there and the one that is `now`. 0 stands for an exchange that only one of the two cases has.
    """

    what: Literal["changed", "accepted", "refused", "new", "gone"]
    lane: str
    number: int
    earlier: int
    at: str = ""
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case and what became of it: outcomes, exchanges that differ, and how many are the `same`.

    `new_losses` and `gone_losses` are the ids of losses that only one of the two has.
    """

    id: str
    verdict: ComparedVerdict
    outcomes: tuple[str, str]
    same: int = 0
    changes: Sequence[ChangedExchange] = ()
    new_losses: Sequence[str] = ()
    gone_losses: Sequence[str] = ()
