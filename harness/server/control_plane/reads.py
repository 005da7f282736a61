"""The control plane's endpoints that read a World: journal, losses, usage, reports.

Those that are plain functions run beside the event loop, on a copy of the World (`requests.py`).
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from harness.analysis.judgement import read_loss_policy
from harness.analysis.loss import losses_of
from harness.analysis.receivers import mistakes_of
from harness.contract.rule import RULES
from harness.core.exchange import BYTES_AS_TEXT, Json, OnDisk
from harness.report.judge_world import Judgement, Permitted, judge_world
from harness.server.control_plane.requests import MockCopy, api_of, mock_of, snapshot_of
from harness.world.mock import Mock
from harness.world.scripting.settings import ALLOW
from harness.world.webhooks import ALL_ALLOWED

Outcome = Literal["fail", "allow"]


def exchanges(mock: MockCopy) -> list[Json]:
    """List the exchanges of a World, oldest first."""
    return [
        {
            "number": exchange.number,
            "request": {
                "method": exchange.request.method,
                "path": exchange.request.path,
                "body": exchange.request.body,
            },
            "status": exchange.status,
            "answer": _show_body(exchange.answer.body),
            "rule": exchange.answer.rule,
        }
        for exchange in mock.exchanges
    ]


def _show_body(body: Any) -> Any:
    """Show a file's bytes as a string, one character per byte; of a file on disk only its size."""
    if isinstance(body, OnDisk):
        return str(body)
    return body.decode(BYTES_AS_TEXT) if isinstance(body, bytes) else body


def unused(mock: MockCopy) -> Json:
    """Count turns and listed answers of routes that no request used, and list why requests could not be answered."""
    world = mock.world
    problems = [*(problem for _, problem in world.problems), *world.all_failed]
    return {"unused": len(world.unused), "problems": [str(problem) for problem in problems]}


def losses(mock: MockCopy, strict: bool = False) -> list[Json]:
    """List what the client lost of the model's answers, oldest first; `strict=true` adds what may be intended."""
    return [asdict(lost) for lost in losses_of(mock.exchanges, strict, mock.world.observed)]


def flow(mock: MockCopy) -> Json:
    """Show what happened as text and as a Mermaid diagram: who sent each exchange, and how exchanges are linked."""
    drawn = mock.flow
    return {
        "text": drawn.text,
        "mermaid": drawn.mermaid,
        "lanes": {name: [exchange.number for exchange in exchanges] for name, exchanges in mock.lanes.items()},
        "hand_offs": [hand_off._asdict() for hand_off in drawn.hand_offs],
    }


def said(mock: MockCopy) -> list[Json]:
    """List what the model said, one entry for each response or run, oldest first."""
    return [reply.as_json() for reply in mock.replies]


def calls(mock: MockCopy, name: str | None = None) -> list[Json]:
    """List the calls that the client has to make, oldest first, with agent and answers.

    Of one `name` only, if given.
    """
    return [call.as_json() for call in mock.calls if name in (None, call.name)]


def retries(mock: MockCopy) -> list[Json]:
    """List the requests that were repeated after a failure, oldest first: of which request, after how long, and why."""
    return [asdict(retry) for retry in mock.retries]


def approvals(mock: MockCopy) -> list[Json]:
    """List the calls of hosted MCP servers that needed approval, oldest first, each with its answer and executions."""
    return [{**asdict(approval), "executed": approval.executed} for approval in mock.approvals]


def agents(mock: MockCopy) -> list[str]:
    """List the names of the agents in the order in which they took over; an agent that acts again is listed again."""
    return mock.agents


def usage(mock: MockCopy) -> Json:
    """Count the tokens of all answers, in total and for each agent: input, output, cached, reasoning."""
    used = mock.usage
    return {**used.as_json(), "by_agent": {name: share.as_json() for name, share in used.by_agent.items()}}


def cache(mock: MockCopy) -> Json:
    """Show what the prompt cache spared: the share of all input tokens, and each request that missed it, with why."""
    return asdict(mock.cache)


def path(mock: MockCopy) -> Json:
    """Show the agents, their calls and texts in order: as one line of text, and step by step."""
    taken = mock.path
    return {"text": str(taken), "steps": [asdict(step) for step in taken.steps]}


async def _delivered(request: Request) -> Mock:
    """Deliver what is due before the copy is taken."""
    await _finish_deliveries(mock_of(request))
    return await snapshot_of(request)


async def _finish_deliveries(mock: Mock) -> None:
    if mock.world.webhooks and mock.world.courier:
        await mock.world.courier.delivered(mock.world)


def deliveries(mock: Annotated[Mock, Depends(_delivered)]) -> Json:
    """List what was delivered to webhooks, oldest first, after delivering what is due.

    And the receivers' `mistakes`.
    """
    made = mock.deliveries
    shown = ("event", "response", "id", "url", "attempt", "at", "signature", "status", "error", "seconds")
    return {
        "deliveries": [{name: getattr(delivery, name) for name in shown} for delivery in made],
        "mistakes": [asdict(mistake) for mistake in mistakes_of(made, mock.exchanges)],
    }


async def _to_judge(
    request: Request,
    unused: Outcome = "fail",
    losses: str = "fail",
    webhooks: Outcome = "fail",
    client: Literal["fail", "allow", "strict"] | None = None,
    verbose: bool = False,
) -> Callable[[], Judgement]:
    """Set how a World is judged, and return what judges a copy of it."""
    mock, permitted = mock_of(request), Permitted(unused == ALLOW, read_loss_policy(losses))
    await _finish_deliveries(mock)
    if webhooks == ALLOW and mock.world.webhooks:
        mock.world.webhooks.allowed.add(ALL_ALLOWED)
    if client is not None:
        mock.world.client = replace(mock.world.client, option=client)
    api_of(request).observers.on_judged(mock, permitted)
    return partial(judge_world, await snapshot_of(request), permitted, verbose=verbose)


def report(judge: Annotated[Callable[[], Judgement], Depends(_to_judge)]) -> Json:
    """Report what a failing test would show, the cause first; `verdict` says why the test would fail, or is null.

    `unused=allow` permits unused turns, `losses=allow` losses, and `webhooks=allow` mistakes of webhook receivers.
    `losses=strict` adds losses that may be intended; a comma-separated list of ids permits only these. `client` sets
    how the client is judged from then on: `strict` looks for everything that clients do wrong. `verbose=true` shows
    every cause in full, with the evidence and the bodies.
    """
    judged = judge()
    return {"verdict": judged.verdict or None, "report": judged.report}


def rules() -> list[Json]:
    """List every rule: id, area, summary, evidence level, message."""
    return [
        {"id": rule.id, "area": rule.area, "summary": rule.summary, "level": rule.level, "message": rule.error.message}
        for rule in RULES.values()
    ]
