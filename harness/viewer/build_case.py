"""Builds a case from a World: for every exchange what its request added, the model's view, the calls, the causes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import orjson

from harness.analysis.call_ledger import Approval, ApprovalLedger, Call, collect_calls, concerns_approvals
from harness.analysis.find_retries import find_retries
from harness.analysis.flow import Flow, FlowStep, build_steps
from harness.analysis.history.history import History
from harness.analysis.history.tool_results import ToolResults
from harness.analysis.lanes import LaneExchange, assign_lanes
from harness.core.exchange import Json, ToolRuns
from harness.core.json_values import as_object, objects_in, omit
from harness.core.text import escape_controls, shorten
from harness.core.webhooks import WebhookDelivery
from harness.explain.cause import (
    Cause,
    ReportFinding,
    causes_of_findings,
    consequences_of,
    group_entries,
    raised_cause,
)
from harness.explain.mistakes import read_original
from harness.explain.turn import summarize_unused
from harness.items import message
from harness.items.kind import Item, render_without_id
from harness.report.report import PASSED_OUTCOMES, documentation_of
from harness.viewer.compared import CauseGroup
from harness.viewer.page_data import (
    CaseRow,
    Documentation,
    Outcome,
    ShownCall,
    ShownCase,
    ShownCause,
    ShownDelivery,
    ShownExchange,
    ShownFinding,
    ShownHandOff,
    WaitingTurn,
)
from harness.viewer.pool import Pool, cleaner_of
from harness.viewer.show_exchange import ExchangeShower, StepLines, began_at, relative_path, summarize_step
from harness.viewer.transcript import Marked, TranscriptReader
from harness.world.route import Route
from harness.world.routed_requests import RoutedPath
from harness.world.scripting.lines import line_of
from harness.world.world import World


def show_cause(cause: Cause) -> ShownCause:
    """Convert a cause."""
    rule = cause.id if documentation_of(cause.id) else ""
    return ShownCause(cause.what, cause.exchange, cause.at, cause.kind, rule, cause.rows, cause.group)


def show_finding(finding: ReportFinding) -> ShownFinding:
    """Convert a finding."""
    members = omit(asdict(finding), "id", "line")
    return ShownFinding(**members, rule=finding.id)


def group_causes(rows: Sequence[CaseRow]) -> list[CauseGroup]:
    """Group the first causes of cases: those that fail the most cases first, then in the order of the cases."""
    failed = [(row, row.causes[0]) for row in rows if row.causes]
    return list(map(_group, group_entries(failed, lambda entry: entry[1].group)))


def document(rows: Iterable[CaseRow], findings: Iterable[str] = ()) -> dict[str, Documentation]:
    """Document the rules and losses that cases mention, by id."""
    ids = sorted({*findings, *(cause.rule for row in rows for cause in row.causes)})
    return {id: Documentation(**known) for id in ids if (known := documentation_of(id))}


def _group(members: Sequence[tuple[CaseRow, ShownCause]]) -> CauseGroup:
    """Build the group of these cases, with the facts of the first."""
    _, first = members[0]
    cases = [(row.id, cause.exchange) for row, cause in members]
    return CauseGroup(first.group, first.what, first.kind, first.rule, cases)


def show_calls(world: World, steps: Sequence[FlowStep], pool: Pool) -> list[ShownCall]:
    """Convert every call and approval of a World, in the order in which the model asked for them."""
    repeated = ToolResults(world.exchanges, world.tool_runs).repeated
    calls = [_show_call(call, repeated, world.tool_runs, pool) for call in collect_calls(world.exchanges)]
    approvals = [_show_approval(approval, pool) for approval in _approvals(world, steps)]
    return sorted([*calls, *approvals], key=lambda call: call.said)


def _show_call(call: Call, repeated: Mapping[str, int], runs: ToolRuns, pool: Pool) -> ShownCall:
    answered = [number for number, _ in call.outputs]
    seen = min(len(answered), 1) if call.name in runs.names else len(answered)
    value = call.outputs[-1][1] if call.outputs else ""
    output = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return ShownCall(
        pool.label(call.call_id),
        pool.label(call.name or call.type.removesuffix("_call")),
        pool.label(call.arguments),
        call.said or 0,
        answered,
        repeated.get(call.call_id, seen),
        output=pool.label(output),
    )


def _show_approval(approval: Approval, pool: Pool) -> ShownCall:
    decided = "waiting" if approval.approve is None else "approved" if approval.approve else "denied"
    return ShownCall(
        pool.label(approval.id),
        pool.label(f"{approval.server_label}.{approval.name}"),
        pool.label(approval.arguments),
        approval.asked or 0,
        approval.answers,
        approval.executed,
        decided,
        pool.label(approval.reason or ""),
    )


def _approvals(world: World, steps: Sequence[FlowStep]) -> Iterable[Approval]:
    """Return the approvals of a World; if the World is only a journal, they are read from it."""
    if len(world.approval_ledger) or not any(
        concerns_approvals([*step.new_items, *step.output_items]) for step in steps
    ):
        return world.approval_ledger
    ledger, history = ApprovalLedger(), History()
    for exchange in world.exchanges:
        request = history.read_request(exchange)
        said = objects_in(as_object(exchange.answer.body).get("output"))
        output = [item for item in said if isinstance(item.get("type"), str)]
        if request and exchange.status == 200:
            added = [item for _, item in request.placed_items]
            if concerns_approvals([*added, *output]):
                with suppress(KeyError):  # items of a recording may lack members
                    ledger.add_exchange(exchange.number, request.previous.items, added, output)
        history.add_exchange(exchange, request)
    return ledger


DIAGRAM_STEPS = 200
"""How many exchanges a diagram shows, the newest ones."""
SEARCH_WIDTH = 300
"""Characters of an exchange that the search of a run covers."""

NEAR_RETRY = 100
"""How many exchanges before the first one shown may have failed and be repeated."""
MAX_CLIENT = 60
"""Characters of a client's name."""

Cleaned = TypeVar("Cleaned", ReportFinding, ShownCause, ShownHandOff)


@dataclass(frozen=True, slots=True)
class CaseHead:
    """The head of a case: its id and place, its outcome and duration in seconds, and `why`, the error of the test.

    Places of turns are shown relative to the folder `root`. `printed` is what the test printed and logged.
    """

    id: str
    file: str = ""
    line: int = 0
    outcome: Outcome = "open"
    seconds: float = 0.0
    began: float | None = None
    why: str = ""
    name: str = ""
    root: str = ""
    printed: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """What is wrong with a case: `causes` that are explained, the findings of a report, and `secrets` to hide."""

    causes: Sequence[Cause] = ()
    findings: Sequence[ReportFinding] = ()
    secrets: Collection[str] = ()


def build_case(head: CaseHead, world: World, judged: JudgedCase = JudgedCase(), after: int = 0) -> ShownCase:
    """Build the case of a World, with only those exchanges whose number is above `after`."""
    pool = Pool(cleaner_of(world.exchanges, judged.secrets))
    lane_exchanges = assign_lanes(world.exchanges, world.script.agent_hints)
    steps = list(build_steps(lane_exchanges))
    lines = list(map(summarize_step, steps))
    row = _build_row(head, world, judged, steps, lines, pool)
    placed_steps = list(zip(lane_exchanges, steps, lines, strict=True))
    exchanges = _show_exchanges(world, pool, placed_steps, judged.findings, after, head.root)
    drawn = Flow(steps[-DIAGRAM_STEPS:]).sequence
    label = pool.label
    return ShownCase(
        row,
        row.lanes,
        exchanges,
        pool.entries,
        [show_finding(_clean(finding, pool, "message", "at", "why", "fix")) for finding in judged.findings],
        show_calls(world, steps, pool),
        [
            _clean(ShownHandOff(*placed.hand_off), pool, "by", "to", "name", "call_id")
            for placed in lane_exchanges
            if placed.hand_off
        ],
        [_show_waiting(head.root, route, turn, pool) for route, turn in world.unused],
        [label(name) for name, gate in world.gates.items() if not gate.is_open],
        [_show_delivery(delivery, pool) for delivery in world.webhooks.deliveries] if world.webhooks else [],
        [(label(title), label(text)) for title, text in head.printed],
        pool.inside(asdict(drawn)) if steps else None,
        label(drawn.mermaid) if steps else "",
    )


def build_row(head: CaseHead, world: World, judged: JudgedCase, newest: int) -> CaseRow:
    """Build only the row of a World's case; its lanes and texts are those of its newest exchanges."""
    exchanges = world.exchanges[-newest:]
    steps = list(build_steps(assign_lanes(exchanges, world.script.agent_hints)))
    lines = list(map(summarize_step, steps))
    return _build_row(head, world, judged, steps, lines, Pool(cleaner_of(exchanges, judged.secrets)))


def _build_row(
    head: CaseHead,
    world: World,
    judged: JudgedCase,
    steps: Sequence[FlowStep],
    lines: Sequence[StepLines],
    pool: Pool,
) -> CaseRow:
    label = pool.label
    return CaseRow(
        escape_controls(head.id),
        label(head.name) if head.name else escape_controls(head.id),
        label(head.file),
        head.line,
        head.outcome,
        head.seconds,
        len(world.exchanges),
        sum(exchange.answer.rule is not None and exchange.status >= 400 for exchange in world.exchanges),
        sum(finding.kind == "loss" for finding in judged.findings),
        [label(lane) for lane in dict.fromkeys(step.lane for step in steps)],
        *_causes_and_consequences(head, judged, pool),
        [
            label(shorten(" ".join(filter(None, [step.lane, step.endpoint, *texts])), SEARCH_WIDTH))
            for step, texts in zip(steps, lines, strict=True)
        ],
        head.began or began_at(world),
        label(_client_of(world)),
    )


def _client_of(world: World) -> str:
    """Return the program that sent the first request in a World's journal, as far as its headers say."""
    headers = world.exchanges[0].request.headers if world.exchanges else {}
    return shorten(headers.get("user-agent", "").split(" (")[0], MAX_CLIENT)


def _show_exchanges(
    world: World,
    pool: Pool,
    placed_steps: Sequence[tuple[LaneExchange, FlowStep, StepLines]],
    findings: Sequence[ReportFinding],
    after: int,
    root: str,
) -> list[ShownExchange]:
    lanes = {lane: index for index, lane in enumerate(dict.fromkeys(placed.lane for placed, *_ in placed_steps))}
    marked = _marked_by_exchange(findings)
    recent = [exchange for exchange in world.exchanges if exchange.number > after - NEAR_RETRY]
    repeated = {retry.exchange: retry.of for retry in find_retries(recent, world.edge)}
    transcripts, shower = TranscriptReader(pool), ExchangeShower(world, pool, root)
    shown = []
    for placed, step, lines in placed_steps:
        exchange = placed.exchange
        number, request = exchange.number, transcripts.read(exchange)
        if number > after:
            marks = marked.get(number, ())
            transcript = transcripts.show(exchange, request, step.new_items, marks) if request else (None, 0)
            shown.append(shower.show(exchange, lanes[placed.lane], step, lines, transcript, repeated.get(number, 0)))
        transcripts.record(exchange, request)
    return shown


def _marked_by_exchange(findings: Sequence[ReportFinding]) -> Mapping[int, Sequence[Marked]]:
    """Group the findings by exchange, each with the exchange that said what was lost."""
    marked: dict[int, list[Marked]] = {}
    for index, finding in enumerate(findings):
        if finding.exchange:
            marked.setdefault(finding.exchange, []).append((index, finding, read_original(finding)))
    return marked


def _causes_and_consequences(head: CaseHead, judged: JudgedCase, pool: Pool) -> tuple[list[ShownCause], list[str]]:
    """Return why a case failed, and the consequences: the test's own error, turns that no request took."""
    if head.outcome in PASSED_OUTCOMES or head.outcome == "skipped":
        return [], []
    causes = judged.causes or causes_of_findings(judged.findings)
    if not causes and head.why:
        causes = [raised_cause(head.why)]
    consequences = consequences_of(head.why, causes, judged.findings) if causes else []
    shown = [_clean_cause(show_cause(cause), pool) for cause in causes]
    return shown, [pool.label(shorten(text, SEARCH_WIDTH)) for text in consequences]


def _clean(thing: Cleaned, pool: Pool, *members: str) -> Cleaned:
    """Hide the secrets in these members of a dataclass, and escape their control characters."""
    cleaned: Json = {name: pool.label(getattr(thing, name)) for name in members}
    return replace(thing, **cleaned)


def _clean_cause(cause: ShownCause, pool: Pool) -> ShownCause:
    rows = [(label, pool.label(text)) for label, text in cause.rows]
    return replace(_clean(cause, pool, "what", "at", "group"), rows=rows)


def _show_delivery(made: WebhookDelivery, pool: Pool) -> ShownDelivery:
    label = pool.label
    return ShownDelivery(
        label(made.event),
        label(made.response),
        label(made.url),
        made.attempt,
        made.exchanges[0],
        made.status,
        label(made.error),
        round(made.seconds, 3),
        made.signature,
    )


def _show_waiting(root: str, route: Route | RoutedPath, turn: Any, pool: Pool) -> WaitingTurn:
    """Convert a turn that no request took, with the line where it was scripted."""
    scripted = zip(route.turns, route.places, strict=False) if isinstance(route, Route) else ()
    place = next((places[0] for waiting, places in scripted if waiting is turn), None)
    where = (pool.label(relative_path(place.file, root)), place.line) if place else ()
    file, line = where or ("", 0)
    lines = pool.put(_waiting_lines(turn)) if isinstance(route, Route) else ()
    return WaitingTurn(pool.label(summarize_unused(route, turn)), pool.label(str(route)), file, line, lines)


def _waiting_lines(turn: Any) -> list[Json | str]:
    """Return the lines of a turn of items; none for any other, which may be a function or has faults."""
    items = [message(line) if isinstance(line, str) else line for line in (turn if isinstance(turn, list) else [turn])]
    return [line_of(render_without_id(item)) for item in items] if all(isinstance(item, Item) for item in items) else []
