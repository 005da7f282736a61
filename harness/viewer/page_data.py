"""The data that the viewer shows: a `Run` with its cases. All of it is plain JSON; the page knows no rules.

`python -m tools.viewer_types` writes it as types for the page (`viewer/src/model.ts`).

Repeated values are stored once: a value may be in the `pool` of its case, and `{"$": 17}` stands for the value at index
17 there. A list that begins like an earlier one is `{"$list": 17, "keep": 40, "then": […]}`: the first 40 elements of
that list, then others. An object that could be read as either is `{"$literal": {…}}`. See `harness.viewer.pool`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.viewer.compared import CauseGroup, Comparison

VIEW_VERSION = 1

Source = Literal["pytest", "vitest", "serve", "verify", "examine", "recordings", "report", "trace"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "open"]
"""How a test ended; `open` is a World that is still in use."""
Pooled = Any
"""A JSON value, parts of which may be in the pool."""
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Documentation:
    """What a rule or a loss is about: summary, text, area, the best evidence with its level and date, the fix."""

    summary: str
    doc: str = ""
    area: str = ""
    source: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A reason for a failure in a case: `what` went wrong, in `exchange` (0 for none), at position `at` of its request.

    `rows` are the labelled texts of a cause (`where`, `sent`, `fix`, …). `rule` is the id of the rule or loss. Causes
    with the same `group` are the same cause in several cases: of one kind and rule, with one fix.
    """

    what: str
    exchange: int = 0
    at: str = ""
    kind: str = ""
    rule: str = ""
    rows: Sequence[tuple[str, str]] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the list of a run, with everything that is shown without opening it.

    `texts` are searched without opening it: one line per exchange. `causes` are already explained; the first one failed
    the case.
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
    """Consequences of the causes: the exception of the test, turns that no request took."""
    texts: Sequence[str] = ()
    began: float | None = None
    """Unix seconds."""
    client: str = ""
    """The program that sent the first request: `OpenAI/Python 3.57.0`."""
    retries: int = 0
    """How often the test was run before; it is shown as it ended last."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A dimension of the API: its title, all names, and the names that the run has touched."""

    title: str
    known: Sequence[str]
    hit: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownCell:
    """The result of a client in a case of the catalogue: `verdict` is pass, fail, warn ….

    `flow` names the case that shows it.
    """

    case: str
    client: str
    mode: str
    verdict: str
    severity: str
    reason: str
    group: str = ""
    """Shared by cells with the same cause; empty if the cell passed."""
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

    `counts` are tests by outcome, including tests without the mock, which are no cases. `totals` are counts of
    exchanges, refusals and findings, which `line` words in one line. `documented` explains the rules and losses that
    the run mentions, by id; `manual` has the sections of the manual that causes name, by the command that prints each.
    """

    source: Source
    command: str = ""
    began: float = 0.0
    """Unix seconds; 0 if unknown."""
    seconds: float = 0.0
    commit: str = ""
    """The branch and the beginning of the commit: `main@aa138ea`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    line: str = ""
    notes: Sequence[str] = ()
    """Notes that deserve a line of their own: unknown models, unreadable files."""
    causes: Sequence[CauseGroup] = ()
    cases: Sequence[CaseRow] = ()
    coverage: Mapping[str, Covered] = field(default_factory=dict)
    documented: Mapping[str, Documentation] = field(default_factory=dict)
    manual: Mapping[str, str] = field(default_factory=dict)
    examination: ShownExamination | None = None
    comparison: Comparison | None = None
    version: int = VIEW_VERSION


@dataclass(frozen=True, slots=True)
class Edge:
    """What was seen at the edge of the server, in milliseconds since the case began; None is unknown.

    `events` of a stream and `bytes` were handed to the socket; `cut` says where the answer broke off, `left` is when
    the client disconnected.
    """

    arrived: float | None = None
    first_byte: float | None = None
    last_byte: float | None = None
    events: int | None = None
    bytes: int | None = None
    cut: str = ""
    left: float | None = None
    connection: int | None = None
    measured: bool = False
    """Whether the times of its events were measured, as opposed to planned or recorded."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A route that was tried: its conditions, and the first failed condition, empty if none failed."""

    route: str
    failed: str


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The turn that answered: its number and route, and the statement that scripted it with its place."""

    turn: int = 0
    route: str = ""
    file: str = ""
    line: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptItem:
    """An item as the model saw it, oldest first.

    `origin` says where it came from: `instructions`, `input` (new in this request), `resent` (an earlier one had it),
    `chain` (previous_response_id), `conversation`. `said` is the exchange in which it first occurred, 0 for this one. A
    `mark` is `lost`, `doubled`, `edited` or `refused`, with the index of the `finding` in the case; `was` is the item
    before it was edited or lost.
    """

    item: Pooled
    origin: str
    said: int = 0
    at: str = ""
    """Its position in the body as sent: `input[3]`; empty if it was not sent."""
    mark: str = ""
    finding: int | None = None
    was: Pooled = None


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of a stream: `at` is when it had been sent in full, in milliseconds since the first byte.

    That time is measured if a server sent the event, otherwise planned by its turn or recorded; None is unknown.
    `chunks` are the sizes in bytes of the pieces in which it was sent, if a turn specifies them; for an event that
    broke off, of what was sent of it.
    """

    event: Pooled
    at: float | None = None
    chunks: Sequence[int] = ()
    delivered: bool = True


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """A request and its answer.

    `gist` and `said` summarize request and answer in a line. `added` are the items that this request added to what its
    lane had sent before, `output` those in the answer, `before` is the number of items that were there before.
    `instructions`, `tools` and `settings` are those of the request, or of what it continues.
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
    """The message of the error in the answer."""
    at: str = ""
    """The position in the request at which it was refused: `input[2].content`."""
    asked: bool = False
    """Whether the test has asked for the refusal."""
    routed: bool = False
    cost: float | None = None
    """What the answer costs in dollars, if the prices of its model are known."""
    retry_of: int = 0
    """The failed exchange that the client repeated with this one; 0 for none."""
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
    """A call that a client has to make: `said` and `answered` are exchange numbers, `executed` counts the runs.

    `approval` is the decision about it: `approved`, `denied`, `waiting`, or empty if none was requested.
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
    """A finding: see `harness.explain.cause.ReportFinding`."""

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
class ShownDelivery:
    """An attempt to deliver an event to a webhook, after the exchange `after`; without a `status`, `error` says why."""

    event: str
    response: str
    url: str
    attempt: int
    after: int
    status: int | None = None
    error: str = ""
    seconds: float = 0.0
    signature: str = ""


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn of the script that no request has taken; `lines` are its items as in a script file, if it has only items."""

    text: str
    route: str = ""
    file: str = ""
    line: int = 0
    lines: Pooled = ()


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A test, a recording or a World, with everything that happened; `row` is its row in the list."""

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
    deliveries: Sequence[ShownDelivery] = ()
    printed: Sequence[tuple[str, str]] = ()
    """What the test printed and logged: pairs of a title and a text."""
    sequence: Pooled = None
    """`harness.analysis.flow.SequenceDiagram` as JSON."""
    mermaid: str = ""
    version: int = VIEW_VERSION
