"""What the exchanges of a test or a recording add to a report: its findings, its diagram, its texts shortened and masked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

from harness.analysis.flow import build_flow
from harness.analysis.flow_steps import is_unanswered
from harness.analysis.lanes import LaneExchange, assign_lanes
from harness.analysis.loss import Lost
from harness.core.exchange import Exchange, Json, Stray
from harness.core.text.redact import secrets_in_headers
from harness.core.text.shorten import answer_error
from harness.report.api_coverage import is_account_rule
from harness.report.cause import Cause
from harness.report.find_causes import summarize_unused
from harness.report.refusal import advise
from harness.report.refusal_cause import explain_refusal
from harness.report.report import ReportCase, ReportFinding
from harness.report.sanitize import sanitize_value
from harness.world.world import World

MAX_TRACED = 20
"""How many refusals of a test are traced to their cause, the newest ones."""
DIAGRAM_STEPS = 40
"""How many exchanges a diagram shows, the newest ones."""
PASSED_OUTCOMES = ("passed", "xfailed", "xpassed")
"""The outcomes of a test in which every finding was expected."""
UNANSWERED_FIX = "Script or record an answer to the request, or mend what it asks."
UNUSED_FIX = "Remove the turn"


def collect_findings(
    world: World,
    exchanges: Sequence[Exchange],
    losses: Sequence[Lost],
    passed: bool,
    allowed: Collection[str] = (),
    *,
    judged: bool = True,
) -> list[ReportFinding]:
    """The findings in the exchanges of a World, in their order; then its unused turns.

    Every finding of a test that `passed` was expected; of other tests the refusals that were asked for, and what their
    marker allows: losses by their ids, `unused`. A test that was not `judged` passes with losses, so that only those
    in refused requests were expected.
    """
    refused = [one for one in exchanges if one.status >= 400 and not one.is_routed]
    known = {lost.exchange for lost in losses} if judged else {one.number for one in refused}
    traced = {one.number for one in refused[-MAX_TRACED:]} if not passed else ()
    unasked = {one.number for one in world.refusals.unasked}
    asked = {one.number for one in refused if passed or (one.answer.rule and one.number not in unasked)}
    findings = [
        _unanswered_finding(one, passed)
        if is_unanswered(one)
        else _refusal_finding(one, exchanges, losses, world, one.number in asked, one.number in traced)
        for one in refused
    ]
    findings += [_loss_finding(lost, lost.loss in allowed or (passed and lost.exchange in known)) for lost in losses]
    findings.sort(key=lambda one: one.exchange or 0)
    expected, words = passed or "unused" in allowed, world.vocabulary
    fix = f"{UNUSED_FIX}, or allow it: {words.allow_unused}." if words.allow_unused else f"{UNUSED_FIX}."
    unused = [ReportFinding("unused", expected, summarize_unused(route, turn), fix=fix) for route, turn in world.unused]
    return [*findings, *unused]


def _unanswered_finding(exchange: Exchange, passed: bool) -> ReportFinding:
    return ReportFinding(
        "unanswered", passed, str(answer_error(exchange)["message"]), exchange=exchange.number, fix=UNANSWERED_FIX
    )


def _refusal_finding(
    exchange: Exchange,
    exchanges: Sequence[Exchange],
    losses: Sequence[Lost],
    world: World,
    asked: bool,
    traced: bool,
) -> ReportFinding:
    error, id, rules = answer_error(exchange), exchange.answer.rule or "", world.rules
    expected, param = asked or is_account_rule(id), error.get("param")
    return ReportFinding(
        "refusal",
        expected,
        f"{exchange.status} {error.get('message') or 'no reason given'}",
        id,
        exchange.number,
        at=param if isinstance(param, str) else "",
        why=explain_refusal(exchange, exchanges, losses, rules).where if traced and not expected else "",
        fix=advise(rules[id], exchange, world.models) if id in rules else "",
    )


def stray_finding(cause: Cause, stray: Stray) -> ReportFinding:
    """Make the finding of requests without a World from their cause and one of them, whose answer names the rule."""
    rows: dict[str, str] = sanitize_value(dict(cause.rows))
    why = "\n".join(f"{label} {rows[label]}" for label in ("where", "asked", "made") if rows.get(label))
    fix = f"{rows['fix']} Or allow it: {rows['allow']}" if "allow" in rows else rows["fix"]
    return ReportFinding("refusal", False, sanitize_value(cause.what), stray.answer.rule or "", why=why, fix=fix)


def _loss_finding(lost: Lost, expected: bool) -> ReportFinding:
    why = f"said in exchange {lost.said}" if lost.said else ""
    return ReportFinding("loss", expected, lost.message, lost.loss, lost.exchange, lost.at, why, lost.fix)


def fill_case(
    case: ReportCase, world: World, losses: Sequence[Lost], allowed: Collection[str] = (), *, judged: bool = True
) -> ReportCase:
    """A case with the exchanges and findings of its World, shortened and masked; see `collect_findings`."""
    headers = {id(one.request.headers): one.request.headers for one in world.exchanges}
    secrets = frozenset().union(*map(secrets_in_headers, headers.values()))
    exchanges = [_redact_exchange(one, secrets) for one in world.exchanges]
    findings = collect_findings(world, exchanges, losses, case.outcome in PASSED_OUTCOMES, allowed, judged=judged)
    lane_exchanges = assign_lanes(exchanges, world.script.agent_hints)
    return replace(
        case,
        exchanges=list(map(_exchange_json, lane_exchanges)),
        found=[ReportFinding(**sanitize_value(asdict(one), secrets)) for one in findings],
        diagram=build_flow(lane_exchanges).last_steps(DIAGRAM_STEPS).mermaid if lane_exchanges else "",
        why=sanitize_value(case.why, secrets),
    )


def _redact_exchange(exchange: Exchange, secrets: frozenset[str]) -> Exchange:
    number, request, answer = exchange
    body = request.raw.decode("utf-8", "replace") if request.fault else request.body
    request_members = {"body": body, "query": request.query, "path": request.path, "params": request.params}
    answer_members = {"body": answer.body, "events": None if answer.events is None else list(answer.events)}
    shown = request._replace(headers={}, raw=b"", fault=None, **sanitize_value(request_members, secrets))
    return Exchange(number, shown, answer._replace(headers={}, **sanitize_value(answer_members, secrets)))


def _exchange_json(lane_exchange: LaneExchange) -> Json:
    number, request, answer = lane_exchange.exchange
    return {
        "number": number,
        "lane": lane_exchange.lane,
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
