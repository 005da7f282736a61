"""Selects the causes that fail a test although its assertions passed, or explain a failure, and the findings of a report."""

from collections.abc import Collection, Sequence

from harness.analysis.flow import is_unanswered
from harness.analysis.lanes import without_probes
from harness.analysis.loss import Lost
from harness.analysis.path import PathClaim
from harness.core.exchange import Exchange
from harness.explain import mistakes, refusal, turn
from harness.explain.cause import Cause, ReportFinding
from harness.explain.turn import stray_cause
from harness.world.world import World


def find_causes(
    world: World, losses: Sequence[Lost] = (), *, unused: bool = True, strays: bool = False, shown: bool = True
) -> list[Cause]:
    """Find why a test fails although its own assertions passed, oldest first; empty if it does not fail.

    `losses` are those in accepted requests. A test may fail for unused turns of the script (`unused`), for requests
    with keys that belong to no World (`strays`), and for a client that does not show what the model said (`shown`).
    """
    # Turns that are left because a request was refused or not answered are no cause of their own.
    unused_turns = world.unused if unused else []
    refused = refusal.unasked_causes(world, losses)
    failed = turn.failed_causes(world)
    stray = [stray_cause(world)] if strays and world.refusals.unexpected_strays else []
    explains_unused = refused or world.problems or failed or stray
    return [
        *([_dropped_world_cause()] if world.was_dropped else []),
        *failed,
        *_sort_causes(world, losses, refused),
        *(mistakes.shown_otherwise_cause(message, world.vocabulary) for message in world.shown_otherwise if shown),
        *stray,
        *mistakes.client_causes(world),
        *mistakes.webhook_causes(world),
        *map(refusal.absence_cause, world.refusals.missing),
        *(_claim_cause(claim) for claim in world.false_claims if not claim.was_read),
        *([_unused_or_no_request(world)] if unused_turns and not explains_unused else []),
        *(
            turn.empty_route_cause(route)
            for route in world.script.routes
            if unused and route.is_empty and not explains_unused
        ),
        *refusal.probe_causes(world),
    ]


def find_suspects(world: World, losses: Sequence[Lost] = (), *, unused: bool = False) -> list[Cause]:
    """Find what may have made a test's own assertions fail, most likely first.

    That is the newest refusal or unanswered request, or the first loss after it; then the other losses, refusals and
    unanswered requests, newest first. `losses` are those in all requests.
    """
    refused = [
        exchange for exchange in without_probes(world.exchanges) if exchange.status >= 400 and not exchange.is_routed
    ]
    newest = refused[-1].number if refused else 0
    unexplained = [exchange for exchange in refused if not turn.has_problem(world, exchange)]
    causes = _sort_causes(
        world, losses, refusal.refusal_causes(unexplained, unexplained[-refusal.MAX_EXPLAINED :], losses, world)
    )
    later = [cause for cause in causes if cause.exchange > newest]
    ranked = [*later, *(cause for cause in reversed(causes) if cause not in later)]
    failed = turn.failed_causes(world)
    named = {cause.exchange for cause in ranked}
    left = [cause for cause in turn.hang_up_causes(world) if cause.exchange not in named]
    if not failed and (not world.exchanges or (not ranked and not left and unused and world.unused)):
        return [_unused_or_no_request(world)]
    return [
        *failed,
        *ranked,
        *mistakes.client_causes(world),
        *mistakes.webhook_causes(world),
        *left,
        *([stray_cause(world)] if world.strays else []),
    ]


def _sort_causes(world: World, losses: Sequence[Lost], refused: Sequence[Cause]) -> list[Cause]:
    """Return the causes in a World's journal, sorted by exchange, oldest first."""
    causes = [*(turn.unanswered_cause(world, *problem) for problem in world.problems), *refused]
    # A loss in a refused or unanswered request is part of that cause.
    explained = {cause.exchange for cause in causes}
    causes += [mistakes.loss_cause(lost, world.vocabulary) for lost in losses if lost.exchange not in explained]
    return sorted(causes, key=lambda cause: cause.exchange)


def _unused_or_no_request(world: World) -> Cause:
    if world.strays:
        return stray_cause(world)
    return turn.unused_cause(world) if world.exchanges else turn.no_request_cause(world)


def _claim_cause(claim: PathClaim) -> Cause:
    """Explain a false claim about the path that the test made without `assert`."""
    return Cause(
        f"A claim that is not asserted is false: {claim.text}",
        kind="claim",
        where=claim.place.short,
        fix="Write `assert` before it, so that the test fails in that line, and check the path.",
    )


def _dropped_world_cause() -> Cause:
    """Report that the server dropped an earlier World of this key, which therefore cannot be judged."""
    return Cause(
        "The server dropped an earlier World of this key, because its limit was reached, or its store lost "
        "it; that World is not judged.",
        kind="dropped",
        fix="Serve with a higher --worlds, use a store that evicts nothing, or end each test with DELETE "
        "/_harness/world.",
    )


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
    unexpected = {exchange.number for exchange in world.refusals.unexpected}
    fixes = {
        cause.exchange: cause.fix for cause in (turn.unanswered_cause(world, *problem) for problem in world.problems)
    }
    findings = [
        turn.unanswered_finding(exchange, passed, fixes.get(exchange.number, ""))
        if is_unanswered(exchange)
        else refusal.refusal_finding(
            exchange,
            exchanges,
            losses,
            world,
            asked=passed
            or exchange.answer.expected
            or bool(exchange.answer.rule and exchange.number not in unexpected),
            traced=exchange.number in traced,
        )
        for exchange in refused
    ]
    findings += [
        mistakes.loss_finding(lost, lost.loss in allowed or (passed and lost.exchange in lossy)) for lost in losses
    ]
    findings += mistakes.client_findings(world, passed)
    findings.sort(key=lambda finding: finding.exchange or 0)
    return [
        *findings,
        *mistakes.webhook_findings(world, passed),
        *turn.unused_findings(world, passed or "unused" in allowed),
    ]
