"""Fills the case of a report from a World: its exchanges, shortened and masked, their findings and flow."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from harness.analysis.flow import build_flow
from harness.analysis.lanes import LaneExchange, assign_lanes
from harness.analysis.loss import Lost
from harness.core.exchange import Exchange, Json
from harness.core.secret_prefixes import secrets_in_headers
from harness.explain.find_causes import collect_findings
from harness.report.report import PASSED_OUTCOMES, ReportCase, sanitize_reason, sanitize_value
from harness.world.world import World

DIAGRAM_STEPS = 40
"""How many exchanges a diagram shows, the newest ones."""


def fill_case(
    case: ReportCase,
    world: World,
    losses: Sequence[Lost],
    allowed: Collection[str] = (),
    *,
    judged: bool = True,
    with_bodies: bool = True,
) -> ReportCase:
    """Add the exchanges and findings of a World to a case, shortened and masked; see `collect_findings`.

    Without bodies, exchanges can only be counted, and there is no diagram: a page has its own.
    """
    headers = {id(exchange.request.headers): exchange.request.headers for exchange in world.exchanges}
    secrets = frozenset().union(*map(secrets_in_headers, headers.values()))
    # Findings quote bodies only of what was refused.
    is_read = with_bodies or any(exchange.status >= 400 for exchange in world.exchanges)
    exchanges = [_redact_exchange(exchange, secrets) for exchange in world.exchanges] if is_read else world.exchanges
    findings = collect_findings(world, exchanges, losses, case.outcome in PASSED_OUTCOMES, allowed, judged=judged)
    case = replace(
        case,
        exchanges=[{"operation": exchange.request.operation} for exchange in exchanges],
        found=[sanitize_reason(finding, secrets) for finding in findings],
        why=sanitize_value(case.why, secrets),
        explained=[sanitize_reason(cause, secrets) for cause in case.explained],
    )
    if not with_bodies:
        return case
    lane_exchanges = assign_lanes(exchanges, world.script.agent_hints)
    drawn = build_flow(lane_exchanges).last_steps(DIAGRAM_STEPS).sequence
    return replace(
        case,
        exchanges=list(map(_exchange_json, lane_exchanges)),
        diagram=drawn.mermaid if exchanges else "",
        sequence=drawn,
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
