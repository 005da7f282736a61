"""The data of one case in the viewer: a `ShownCase` with its exchanges, and what happened around each.

Plain JSON like the run (`harness.viewer.model`), and converted with it to types for the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.viewer.model import VIEW_VERSION, CaseRow, Pooled


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
    """The turn of a script that answered: its number, the route, the place in the script."""

    turn: int = 0
    route: str = ""
    file: str = ""
    line: int = 0


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
    sequence: Pooled = None
    """`harness.analysis.sequence.SequenceDiagram` as JSON."""
    mermaid: str = ""
    version: int = VIEW_VERSION
