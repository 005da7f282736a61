"""What became of a run, compared with an earlier one: the part of the viewer's data that is about two runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ComparedVerdict = Literal["better", "same", "worse"]


@dataclass(frozen=True, slots=True)
class ChangedExchange:
    """An exchange that differs from the one at the same place in its lane: its `number` now and `earlier`.

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


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """A cause with the cases that have it: pairs of a case's id and the number of the exchange (0 for none).

    `what` and the other facts are those of the first case.
    """

    id: str
    what: str
    kind: str
    rule: str
    cases: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences from an `earlier` run: ids of `new` causes, causes that are `gone`, cases with another outcome.

    `broken` cases passed before, `mended` ones pass now; `added` ones fail and are not in the earlier run, `missing`
    ones failed in it and are not in this one. `clients` are pairs of a client examined before and now. `cases` are those
    in both runs.
    """

    earlier: str
    new: Sequence[str] = ()
    gone: Sequence[CauseGroup] = ()
    broken: Sequence[str] = ()
    mended: Sequence[str] = ()
    added: Sequence[str] = ()
    missing: Sequence[str] = ()
    clients: Sequence[tuple[str, str]] = ()
    cases: Sequence[ComparedCase] = ()
    verdict: ComparedVerdict = "same"
