"""The findings that a report lists for a test: refusals, losses, unanswered requests, unused turns, wrong webhooks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.analysis.flow_steps import is_unanswered
from harness.analysis.loss import Lost
from harness.core.exchange import Exchange
from harness.explain.loss import loss_finding
from harness.explain.mistakes import client_findings, webhook_findings
from harness.explain.model import ReportFinding
from harness.explain.refusal import refusal_finding
from harness.explain.turn import unused_findings
from harness.explain.unanswered import unanswered_finding
from harness.world.world import World

MAX_TRACED = 20
"""The maximum number of refusals of a test, the newest ones, that are traced to their cause."""


def collect_findings(
    world: World,
    exchanges: Sequence[Exchange],
    losses: Sequence[Lost],
    passed: bool,
    allowed: Collection[str] = (),
    *,
    judged: bool = True,
) -> list[ReportFinding]:
    """List the findings in the exchanges of a World, in order, then those of its webhooks and the unused turns.

    In a test that `passed`, every finding was expected; in other tests, the refusals that the test asked for and what
    its marker allows: losses by their ids, `unused`. A test that was not `judged` passes despite losses, so that only
    those in refused requests were expected.
    """
    refused = [exchange for exchange in exchanges if exchange.status >= 400 and not exchange.is_routed]
    numbers = {exchange.number for exchange in refused}
    lossy = {lost.exchange for lost in losses} if judged else numbers
    traced = {exchange.number for exchange in refused[-MAX_TRACED:]}
    unasked = {exchange.number for exchange in world.refusals.unasked}
    findings = [
        unanswered_finding(exchange, passed)
        if is_unanswered(exchange)
        else refusal_finding(
            exchange,
            exchanges,
            losses,
            world,
            asked=passed or bool(exchange.answer.rule and exchange.number not in unasked),
            traced=exchange.number in traced,
        )
        for exchange in refused
    ]
    findings += [loss_finding(lost, lost.loss in allowed or (passed and lost.exchange in lossy)) for lost in losses]
    findings += client_findings(world, passed)
    findings.sort(key=lambda finding: finding.exchange or 0)
    return [*findings, *webhook_findings(world, passed), *unused_findings(world, passed or "unused" in allowed)]
