"""What a test run shows of its exchanges with the API: the one model behind every report.

A `Trial` is one test with its exchanges and what was found in them; a `Report` is many, and how much of the API's surface
they touch together. Texts are shortened and secrets hidden when a trial is made: nothing else is ever written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Literal, NamedTuple

from harness.analysis.flow import build_flow
from harness.analysis.lanes import LaneExchange, assign_lanes
from harness.analysis.loss import LOSSES, Lost
from harness.analysis.steps import is_unanswered
from harness.contract.rule import RULES
from harness.core.exchange import Exchange, Json
from harness.core.redact import secrets_in_headers
from harness.core.shorten import answer_error, pluralize
from harness.report.cause import explain_refusal
from harness.report.coverage import DIMENSIONS, Coverage, api_surface, is_account_rule, merge_coverage, percent_covered
from harness.report.failure import summarize_turn
from harness.report.sanitize import sanitize_value
from harness.world.world import World

REPORT_VERSION = 1
MAX_TRACED = 20
"""Refusals of a test that are traced to what the client did, the newest ones."""
DIAGRAM_STEPS = 40
"""Exchanges that a diagram shows, the newest ones."""

FindingKind = Literal["refusal", "loss", "unanswered", "unused", "disagreement", "unreadable"]
PASSED_OUTCOMES = ("passed", "xfailed", "xpassed")
"""The outcomes of a test in which whatever was found was expected."""
UNANSWERED_FIX = "Script or record an answer to the request, or mend what it asks."
UNUSED_FIX = 'Remove the turn, or allow it: @pytest.mark.harness(unused="allow").'


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """Something worth knowing: what `kind`, by which rule or loss (`id`), in which `exchange`, where `at` in its body.

    It is `expected` when its test took it into account. `why` ties it to what the client did. `line` is its own line in
    the file of its trial, 0 where it has none.
    """

    kind: FindingKind
    expected: bool
    message: str
    id: str = ""
    exchange: int | None = None
    at: str = ""
    why: str = ""
    fix: str = ""
    line: int = 0

    @property
    def title(self) -> str:
        """The kind and the rule: `refusal call_needs_output`."""
        return f"{self.kind} {self.id}".strip()

    @property
    def place(self) -> str:
        """Where: `exchange 3, input[0]`; a turn is in the script, what cannot be read in the file."""
        if self.exchange is None:
            return "the file" if self.kind == "unreadable" else "the script"
        return ", ".join(filter(None, [f"exchange {self.exchange}", self.at]))

    @property
    def text(self) -> str:
        """What, where, why and how to mend it, on lines of their own."""
        return "\n".join(filter(None, [f"{self.message} ({self.place})", self.why, self.fix]))


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One test or recording: where it stands (`file` from the root, `line` from 1), how it ended, what it exchanged.

    `exchanges` are JSON as `schemas/report.json` has it, `diagram` is their flow for Mermaid, `why` the text of a failure.
    """

    id: str
    file: str
    line: int
    outcome: str
    seconds: float
    exchanges: Sequence[Json] = ()
    found: Sequence[ReportFinding] = ()
    diagram: str = ""
    why: str = ""

    @classmethod
    def from_json(cls, told: Json) -> ReportCase:
        """A trial from its JSON."""
        return cls(**{**told, "found": [ReportFinding(**found) for found in told["found"]]})

    def to_json(self) -> Json:
        """The trial as JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**own, "found": [asdict(found) for found in self.found]}

    @property
    def unexpected(self) -> list[ReportFinding]:
        """What was found and not expected."""
        return [found for found in self.found if not found.expected]

    def location_of(self, found: ReportFinding) -> tuple[str, int]:
        """The file and the line of what was found here."""
        return self.file, found.line or self.line


class Totals(NamedTuple):
    """How much there was: refusals that were `expected` and not, all losses; of the rest what was not expected."""

    tests: int = 0
    exchanges: int = 0
    expected: int = 0
    unexpected: int = 0
    losses: int = 0
    unanswered: int = 0
    unused: int = 0
    disagreements: int = 0
    unreadable: int = 0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        return Totals(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Report:
    """The trials of a run, what there is to touch of each dimension of the API, and what they touch."""

    cases: Sequence[ReportCase] = ()
    known: Coverage = field(default_factory=api_surface)
    hit: Coverage = field(default_factory=lambda: merge_coverage(()))

    @property
    def totals(self) -> Totals:
        """How much there was in all of it."""
        whole = Totals()
        for trial in self.cases:
            whole = whole.plus(count_totals(len(trial.exchanges), trial.found))
        return whole

    @property
    def unexpected(self) -> list[tuple[ReportCase, ReportFinding]]:
        """What is to be mended: every finding that was not expected, with its test."""
        return [(trial, found) for trial in self.cases for found in trial.unexpected]

    def percent_covered(self, dimension: str) -> int:
        """How much of a dimension was touched, in whole per cent."""
        return percent_covered(self.hit[dimension], self.known[dimension])

    def summary_json(self) -> Json:
        """All but the tests, as `schemas/report.json` has it."""
        surface = {name: {"known": sorted(self.known[name]), "hit": sorted(self.hit[name])} for name in DIMENSIONS}
        return {"version": REPORT_VERSION, "totals": self.totals._asdict(), "surface": surface}


def count_totals(exchanges: int, found: Sequence[ReportFinding]) -> Totals:
    """The totals of one test."""
    of = Counter((one.kind, one.expected) for one in found)
    losses = of["loss", True] + of["loss", False]
    rest = (of[kind, False] for kind in ("unanswered", "unused", "disagreement", "unreadable"))
    return Totals(1, exchanges, of["refusal", True], of["refusal", False], losses, *rest)


def summary_line(totals: Totals, rules: int) -> str:
    """A run in one line; `rules` is the share of them that was touched, in per cent."""
    refusals = f"{pluralize(totals.expected, 'refusal')} expected"
    parts = [
        pluralize(totals.exchanges, "exchange"),
        f"{refusals}, {totals.unexpected} unexpected" if totals.unexpected else refusals,
        "1 loss" if totals.losses == 1 else f"{totals.losses} losses",
        f"{totals.unanswered} unanswered" if totals.unanswered else "",
        f"{pluralize(totals.unused, 'turn')} unused" if totals.unused else "",
        pluralize(totals.disagreements, "disagreement") if totals.disagreements else "",
        f"{totals.unreadable} unreadable" if totals.unreadable else "",
        f"{rules} % of rules",
    ]
    return f"contract: {', '.join(filter(None, parts))}"


def collect_findings(
    world: World,
    exchanges: Sequence[Exchange],
    losses: Sequence[Lost],
    passed: bool,
    allowed: Collection[str] = (),
    *,
    judged: bool = True,
) -> list[ReportFinding]:
    """What the exchanges of a World show that is worth knowing, in their order; then its turns that no request took.

    All that a test which `passed` shows was expected; of others what a test made happen itself, and what its marker
    allows: losses by their ids, `unused`. A test that was not `judged` passes with losses: only those that the API itself
    told its client, by a refusal, were expected.
    """
    refused = [one for one in exchanges if one.status >= 400]
    known = {lost.exchange for lost in losses} if judged else {one.number for one in refused}
    traced = {one.number for one in refused[-MAX_TRACED:]} if not passed else ()
    found = [
        _unanswered_finding(one, passed)
        if is_unanswered(one)
        else _refusal_finding(one, exchanges, losses, passed, one.number in traced)
        for one in refused
    ]
    found += [_loss_finding(lost, lost.loss in allowed or (passed and lost.exchange in known)) for lost in losses]
    found.sort(key=lambda one: one.exchange or 0)
    expected = passed or "unused" in allowed
    left = [
        ReportFinding("unused", expected, f"{route}: {summarize_turn(turn)}", fix=UNUSED_FIX)
        for route, turn in world.script.unused
    ]
    return [*found, *left]


def _unanswered_finding(exchange: Exchange, passed: bool) -> ReportFinding:
    return ReportFinding(
        "unanswered", passed, str(answer_error(exchange)["message"]), exchange=exchange.number, fix=UNANSWERED_FIX
    )


def _refusal_finding(
    exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], passed: bool, traced: bool
) -> ReportFinding:
    said, id = answer_error(exchange), exchange.answer.rule or ""
    expected, param = passed or is_account_rule(id), said.get("param")
    return ReportFinding(
        "refusal",
        expected,
        f"{exchange.status} {said.get('message') or 'no reason given'}",
        id,
        exchange.number,
        at=param if isinstance(param, str) else "",
        why=explain_refusal(exchange, exchanges, losses)[1] if traced and not expected else "",
        fix=RULES[id].fix if id in RULES else "",
    )


def _loss_finding(lost: Lost, expected: bool) -> ReportFinding:
    why = f"said in exchange {lost.said}" if lost.said else ""
    return ReportFinding("loss", expected, lost.message, lost.loss, lost.exchange, lost.at, why, lost.fix)


def fill_case(
    trial: ReportCase, world: World, losses: Sequence[Lost], allowed: Collection[str] = (), *, judged: bool = True
) -> ReportCase:
    """A trial with all that its World shows, as it may be written; see `found_in`."""
    headers = {id(one.request.headers): one.request.headers for one in world.exchanges}
    secrets = frozenset().union(*map(secrets_in_headers, headers.values()))
    exchanges = [_redact_exchange(one, secrets) for one in world.exchanges]
    found = collect_findings(world, exchanges, losses, trial.outcome in PASSED_OUTCOMES, allowed, judged=judged)
    told = assign_lanes(exchanges, world.script.agent_hints)
    return replace(
        trial,
        exchanges=list(map(_exchange_json, told)),
        found=[ReportFinding(**sanitize_value(asdict(one), secrets)) for one in found],
        diagram=build_flow(told).last_steps(DIAGRAM_STEPS).mermaid if told else "",
        why=sanitize_value(trial.why, secrets),
    )


def _redact_exchange(exchange: Exchange, secrets: frozenset[str]) -> Exchange:
    number, request, answer = exchange
    body = request.raw.decode("utf-8", "replace") if request.fault else request.body
    said = {"body": body, "query": request.query, "path": request.path, "params": request.params}
    told = {"body": answer.body, "events": None if answer.events is None else list(answer.events)}
    shown = request._replace(headers={}, raw=b"", fault=None, **sanitize_value(said, secrets))
    return Exchange(number, shown, answer._replace(headers={}, **sanitize_value(told, secrets)))


def _exchange_json(told: LaneExchange) -> Json:
    number, request, answer = told.exchange
    return {
        "number": number,
        "lane": told.lane,
        "dialect": request.dialect,
        "operation": request.operation,
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "request": request.body,
        "status": answer.status,
        "answer": answer.body,
        "events": answer.events,
        "rule": answer.rule or "",
        "broke": answer.disconnection,
    }


def explain(id: str) -> Json:
    """What is known of a rule or a loss by its id: its words, its best source, its fix; else `{}`."""
    if rule := RULES.get(id):
        best = min(rule.sources, key=lambda source: source.level != rule.level)
        source = " ".join(filter(None, (best.level, best.where, best.date)))
        return {"summary": rule.summary, "doc": rule.doc, "area": rule.area, "source": source, "fix": rule.fix}
    if loss := LOSSES.get(id):
        return {"summary": loss.summary, "doc": loss.doc, "area": loss.area, "source": "", "fix": loss.fix}
    return {}
