"""What a failed test shows of its World: the cause in one block, then the flow; evidence and bodies only on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.analysis.flow import Flow
from harness.analysis.lanes import asks_model, without_probes
from harness.analysis.loss import Lost
from harness.core.exchange import Exchange
from harness.core.text.printable import escape_controls
from harness.report.cause import Cause, render_cause, render_causes
from harness.report.find_causes import (
    MAX_EXPLAINED,
    absence_cause,
    dropped_world_cause,
    hang_up_causes,
    is_same_request,
    loss_cause,
    no_request_cause,
    probe_causes,
    refusal_cause,
    shown_otherwise_cause,
    stray_cause,
    unanswered_cause,
    unasked_causes,
    unused_cause,
)
from harness.report.journal import render_journal
from harness.report.refusal import render_bodies, render_evidence
from harness.report.refusal_cause import describe_refusal
from harness.world.mock import Mock
from harness.world.world import World

SECTION_TITLE = "responses-harness"
DIAGRAM_TITLE = "responses-harness: the flow as a Mermaid diagram"
MAX_STEPS = 20
"""How many exchanges of the flow are shown, the newest ones."""
MAX_DETAILED = 5
"""How many causes are shown in full on demand, the first ones."""
_NO_LIMIT = 1000


def find_verdict(
    world: World, losses: Sequence[Lost] = (), *, unused: bool = True, strays: bool = False, shown: bool = True
) -> list[Cause]:
    """Why a test fails although its own assertions passed, the oldest first; none when it does not fail.

    `losses` are those of accepted requests; `unused` says whether unused turns of the script fail a test, `strays` whether
    requests do that came with keys of no World, `shown` whether that does which a client shows otherwise than it was said.
    Turns left where a request was refused or not answered are no cause of their own.
    """
    unused_turns = world.unused if unused else []
    refused = unasked_causes(world, losses)
    stray = [stray_cause(world)] if strays and world.refusals.unasked_strays else []
    explains_unused = refused or world.problems or stray
    return [
        *([dropped_world_cause()] if world.was_dropped else []),
        *_sort_causes(world, losses, refused),
        *(shown_otherwise_cause(world, message) for message in world.shown_otherwise if shown),
        *stray,
        *map(absence_cause, world.refusals.missing),
        *([_unused_or_no_request(world)] if unused_turns and not explains_unused else []),
        *probe_causes(world),
    ]


def verdict(
    world: World, losses: Sequence[Lost] = (), *, unused: bool = True, strays: bool = False, shown: bool = True
) -> str:
    """The text of `find_verdict`; empty when the test does not fail."""
    found = find_verdict(world, losses, unused=unused, strays=strays, shown=shown)
    return escape_controls(render_causes(found, world.vocabulary))


def find_suspects(world: World, losses: Sequence[Lost] = (), *, unused: bool = False) -> list[Cause]:
    """What may have made a test fail by itself: the newest refusal or unanswered request, or the first loss after it.

    `losses` are those of all requests. The other losses, refusals and unanswered requests follow, the newest first.
    """
    refused = [one for one in without_probes(world.exchanges) if one.status >= 400 and not one.is_routed]
    newest = refused[-1].number if refused else 0
    found = _sort_causes(world, losses, _explain_newest(world, losses, refused))
    later = [cause for cause in found if cause.exchange > newest]
    ranked = [*later, *(cause for cause in reversed(found) if cause not in later)]
    if not world.exchanges or (not ranked and unused and world.unused):
        return [_unused_or_no_request(world)]
    named = {cause.exchange for cause in ranked}
    left = [cause for cause in hang_up_causes(world) if cause.exchange not in named]
    return [*ranked, *left, *([stray_cause(world)] if world.strays else [])]


def render_section(world: World, causes: Sequence[Cause], *, told: str = "", verbose: bool = False) -> str:
    """The section of a failure: its causes, unless the text `told` says them already, and the flow.

    With `verbose` every cause in full, the journal, the evidence of the rules and the bodies of the first cause.
    """
    brief = escape_controls(render_causes(causes[:1] if verbose else causes, world.vocabulary))
    parts = ["" if brief in told else brief, _render_flow(world, causes[0].exchange if causes else 0)]
    if verbose:
        parts += _render_details(world, causes)
    return escape_controls("\n\n".join(filter(None, parts)))


def render_diagram(world: World) -> str:
    """The newest part of the flow as a Mermaid diagram; empty when there was no request."""
    return escape_controls(Mock(world).flow.last_steps(MAX_STEPS).mermaid) if world.exchanges else ""


def _sort_causes(world: World, losses: Sequence[Lost], refused: Sequence[Cause]) -> list[Cause]:
    """The causes in the journal of a World, the oldest exchange first."""
    found = [unanswered_cause(world, *problem) for problem in world.problems]
    found += refused
    explained = {cause.exchange for cause in found}
    found += [loss_cause(lost, world.vocabulary) for lost in losses if lost.exchange not in explained]
    return sorted(found, key=lambda cause: cause.exchange)


def _explain_newest(world: World, losses: Sequence[Lost], refused: Sequence[Exchange]) -> list[Cause]:
    """The causes of refusals; only the newest are traced to what the client did."""
    refusals = [one for one in refused if not _problem_of(world, one)]
    traced = {one.number for one in refusals[-MAX_EXPLAINED:]}
    return [
        refusal_cause(one, world.exchanges, losses, world)
        if one.number in traced
        else Cause(describe_refusal(one), (), one.number)
        for one in refusals
    ]


def _unused_or_no_request(world: World) -> Cause:
    if world.strays:
        return stray_cause(world)
    return unused_cause(world, _last_refused_request(world)) if world.exchanges else no_request_cause(world)


def _last_refused_request(world: World) -> Exchange | None:
    """The last request to the model if it was refused, so that it took no turn; else None."""
    model_requests = [exchange for exchange in world.exchanges if asks_model(exchange.request)]
    last = model_requests[-1] if model_requests and model_requests[-1].status >= 400 else None
    return None if last and _problem_of(world, last) else last


def _problem_of(world: World, exchange: Exchange) -> bool:
    """Whether the harness could not answer a request."""
    return any(is_same_request(exchange, request) for request, _ in world.problems)


def _render_flow(world: World, told: int) -> str:
    """Render the newest part of the flow, and of a long one also the steps around exchange `told`, 0 for none.

    The error of that exchange is not repeated: the cause above has it.
    """
    if not world.exchanges:
        return ""
    excerpts = Mock(world).flow.excerpts(told, MAX_STEPS)
    return "\n".join(_name_failure_once(excerpt, told).text for excerpt in excerpts)


def _name_failure_once(flow: Flow, told: int) -> Flow:
    """Shorten the error of the step whose exchange is told."""
    steps = [
        step._replace(failure=f"{step.failure.partition(':')[0]}, see above")
        if step.failure and step.number == told
        else step
        for step in flow.steps
    ]
    return Flow(steps, flow.earlier)


def _render_details(world: World, causes: Sequence[Cause]) -> Iterator[str]:
    for cause in causes[:MAX_DETAILED]:
        text = render_cause(cause, _NO_LIMIT)
        if cause is not causes[0] or text != render_cause(cause):
            yield text
    yield render_journal(world.exchanges, Mock(world).lanes)
    exchanges = {exchange.number: exchange for exchange in world.exchanges}
    shown = [exchanges[cause.exchange] for cause in causes[:MAX_DETAILED] if cause.exchange in exchanges]
    rules = dict.fromkeys(exchange.answer.rule or "" for exchange in shown)
    yield from (render_evidence(world.rules[rule]) for rule in rules if rule in world.rules)
    yield from (render_bodies(exchange) for exchange in shown[:1])
