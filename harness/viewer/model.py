"""The data that the viewer shows: a `Run` has cases. All is plain JSON; the page knows no rule.

What one case holds is in `harness.viewer.case_model`. `python -m tools.viewer_types` writes both as types for the page
(`viewer/src/model.ts`).

What repeats is told once: a value may stand in the `pool` of its case, and `{"$": 17}` stands for the one at index 17
there. A list that begins like one before is `{"$list": 17, "keep": 40, "then": […]}`: the first 40 elements of that
list, then others. An object that would be read as either is `{"$literal": {…}}`. See `harness.viewer.pool`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

VIEW_VERSION = 1

Source = Literal["pytest", "vitest", "serve", "verify", "examine", "recordings", "report", "trace"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "open"]
"""How a test ended; `open` is a World that lives."""
Pooled = Any
"""A JSON value of which parts may stand in the pool."""
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Documentation:
    """What a rule or a loss is about: summary, text, area, the best evidence with its level and date, how to fix it."""

    summary: str
    doc: str = ""
    area: str = ""
    source: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A reason for a failure in a case: `what` went wrong, in `exchange` (0 for none), at a place `at` of its request.

    `rows` are the labelled texts of a cause (`where`, `sent`, `fix`, …). `rule` is the id of the rule or loss. Causes of one
    `group` are the same in several cases, and `general` words them for all, where `what` names the number of a request.
    """

    what: str
    exchange: int = 0
    at: str = ""
    kind: str = ""
    rule: str = ""
    rows: Sequence[tuple[str, str]] = ()
    group: str = ""
    expected: bool = False
    general: str = ""


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """A cause with the cases that have it: pairs of a case's id and the number of the exchange (0 for none)."""

    id: str
    what: str
    kind: str
    rule: str
    cases: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the list of a run: what can be told without opening it.

    `texts` are what search looks through at once: a line for each exchange. `causes` come explained; the first failed it.
    """

    id: str
    name: str
    file: str
    line: int
    outcome: Outcome
    seconds: float
    exchanges: int
    refusals: int
    losses: int
    lanes: Sequence[str] = ()
    causes: Sequence[ShownCause] = ()
    consequences: Sequence[str] = ()
    """What followed from the causes: the exception of the test, turns that nobody took."""
    texts: Sequence[str] = ()
    began: float | None = None
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A dimension of the API: its title, all names, and the names that the run has touched."""

    title: str
    known: Sequence[str]
    hit: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownCell:
    """How a client did in a case of the catalogue: `verdict` is pass, fail, warn …; `flow` names the case that shows it."""

    case: str
    client: str
    mode: str
    verdict: str
    severity: str
    reason: str
    group: str = ""
    """What cells of the same cause share; empty for one that passed."""
    details: Sequence[tuple[str, str]] = ()
    flow: str = ""
    reproduce: str = ""


@dataclass(frozen=True, slots=True)
class ShownExamination:
    """Clients side by side: their names with releases, what each case is about, and a cell for each."""

    clients: Sequence[str]
    cases: Mapping[str, Json]
    cells: Sequence[ShownCell]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs from an `earlier` run: ids of `new` causes, the causes that are `gone`, the cases that went otherwise.

    `broken` cases did well before, `mended` ones do now; `added` ones fail and are not in the earlier run, `missing` ones
    failed in it and are not in this one. `clients` are pairs of a client examined before and now.
    """

    earlier: str
    new: Sequence[str] = ()
    gone: Sequence[CauseGroup] = ()
    broken: Sequence[str] = ()
    mended: Sequence[str] = ()
    added: Sequence[str] = ()
    missing: Sequence[str] = ()
    clients: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run: what was run when, its verdict, its causes, and a row for each case.

    `counts` are tests by outcome; those that did not use the mock are no cases. `totals` are counts of exchanges, refusals
    and findings; `line` says them in one line. `documented` explains the rules and losses that the run mentions, by id.
    """

    source: Source
    command: str = ""
    began: float = 0.0
    """Unix seconds; 0 when unknown."""
    seconds: float = 0.0
    commit: str = ""
    """The branch and the beginning of the commit: `main@aa138ea`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    line: str = ""
    notes: Sequence[str] = ()
    """What is worth a line of its own: models that no table knows, files that could not be read."""
    causes: Sequence[CauseGroup] = ()
    cases: Sequence[CaseRow] = ()
    coverage: Mapping[str, Covered] = field(default_factory=dict)
    documented: Mapping[str, Documentation] = field(default_factory=dict)
    examination: ShownExamination | None = None
    comparison: Comparison | None = None
    files: Sequence[str] = ()
    version: int = VIEW_VERSION
