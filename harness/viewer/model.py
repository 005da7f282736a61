"""The data that the viewer shows: a `Run` has cases, a `ShownCase` has exchanges. All is plain JSON; the page knows no rule.

`python -m tools.viewer_types` writes the same as types for the page (`viewer/src/model.ts`).

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
    files: Sequence[str] = ()
    version: int = VIEW_VERSION


@dataclass(frozen=True, slots=True)
class Edge:
    """What was seen at the edge of the server, in milliseconds since the case began; None is unknown.

    `events` of a stream and `bytes` were handed over; `cut` says where it broke off, `left` is when the client was gone.
    """

    arrived: float | None = None
    first_byte: float | None = None
    last_byte: float | None = None
    events: int | None = None
    bytes: int | None = None
    cut: str = ""
    left: float | None = None
    connection: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """A route that was tried: its conditions, and the first that failed; empty if none did."""

    route: str
    failed: str


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The turn of a script that answered: its number, the route, the place in the script."""

    turn: int = 0
    route: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class TranscriptItem:
    """An item as the model saw it, oldest first.

    `origin` says from where: `instructions`, `input` (this request sent it as new), `resent` (an earlier one had it),
    `chain` (previous_response_id), `conversation`. `said` is the exchange in which it was said first, 0 for this one. A
    `mark` is `lost`, `doubled`, `edited` or `refused`, with the index of the `finding` in the case; `was` is the item
    before it was edited or lost.
    """

    item: Pooled
    origin: str
    said: int = 0
    at: str = ""
    """Its place in the body as sent: `input[3]`; empty for what was not sent."""
    mark: str = ""
    finding: int | None = None
    was: Pooled = None


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of a stream: `at`, in milliseconds since the first byte, as planned by its turn or as recorded; else None.

    `chunks` are the sizes in bytes of the pieces in which it went out, where a turn says how; of one that was broken off, of
    what went out of it.
    """

    event: Pooled
    at: float | None = None
    chunks: Sequence[int] = ()
    delivered: bool = True


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """A request and its answer.

    `gist` and `said` sum up request and answer in a line. `added` are the items that this request added to what its lane
    had sent before, `output` those that were answered, `before` is how many items are as before. `instructions`, `tools`
    and `settings` are those of the request, or of what it continues.
    """

    number: int
    lane: int
    """Index in the lanes of the case."""
    method: str
    path: str
    operation: str
    dialect: str
    status: int
    rule: str = ""
    gist: str = ""
    said: str = ""
    error: str = ""
    """The message of the error that was answered."""
    at: str = ""
    """The place in the request at which it was refused: `input[2].content`."""
    asked: bool = False
    """Whether the test has asked for the refusal."""
    routed: bool = False
    query: Pooled = None
    request: Pooled = None
    answer: Pooled = None
    events: Sequence[StreamEvent] | None = None
    added: Sequence[Pooled] = ()
    output: Sequence[Pooled] = ()
    before: int = 0
    transcript: Pooled = None
    """A list of TranscriptItem."""
    instructions: Pooled = None
    tools: Pooled = None
    settings: Pooled = None
    request_headers: Sequence[tuple[str, str]] = ()
    answer_headers: Sequence[tuple[str, str]] = ()
    edge: Edge = Edge()
    answered_by: AnsweredBy | None = None
    tried: Sequence[Tried] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    """What can be copied, by name: `curl`, `pytest`, `turn_yaml`, `turn_python`, `refusal`."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call that a client has to make: said in exchange `said`, answered in these exchanges, executed so often.

    `approval` is what was decided about it: `approved`, `denied`, `waiting`, empty when none was asked.
    """

    call_id: str
    name: str
    arguments: str
    said: int
    answered: Sequence[int]
    executed: int = 0
    approval: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding: see `harness.explain.model.ReportFinding`."""

    kind: str
    expected: bool
    message: str
    rule: str = ""
    exchange: int | None = None
    at: str = ""
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ShownHandOff:
    """A call whose output led to another lane, in exchange `number`."""

    number: int
    by: str
    to: str
    name: str
    call_id: str


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn of the script that no request has taken."""

    text: str
    route: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A test, a recording or a World, with all that happened; `row` is its row in the list."""

    row: CaseRow
    lanes: Sequence[str]
    exchanges: Sequence[ShownExchange]
    pool: Sequence[Pooled]
    findings: Sequence[ShownFinding] = ()
    calls: Sequence[ShownCall] = ()
    hand_offs: Sequence[ShownHandOff] = ()
    waiting: Sequence[WaitingTurn] = ()
    gates: Sequence[str] = ()
    """Closed gates that a turn waits for."""
    sequence: Pooled = None
    """`harness.analysis.sequence.SequenceDiagram` as JSON."""
    mermaid: str = ""
    version: int = VIEW_VERSION
