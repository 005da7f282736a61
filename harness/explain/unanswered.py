"""Explains requests without an answer: no turn or recording for them, or a client that did not wait."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.errors import Problem
from harness.core.exchange import Exchange, Request, answer_error
from harness.core.text import pluralize, summarize_item
from harness.explain.model import Cause, ReportFinding
from harness.world.world import World

SAME_REQUEST = "an unread stream, an answer that is not awaited and a retry after a timeout each take one"
UNANSWERED_FIX = "Script or record an answer to the request, or correct the request."
HANG_UP = "The client hung up before the answer was complete."
HANG_UP_FIX = (
    "Give the client a longer `timeout` than the answer takes, disable its retries (`max_retries=0`), read its stream "
    "to the end, or script a turn for the second request."
)
MAX_DIFFERING = 4
"""The maximum number of lines of a diff that are shown for each side."""


def unanswered_cause(world: World, request: Request, problem: Problem) -> Cause:
    """Explain a request without an answer: why, how it differs from the nearest route, what was sent, the fix."""
    number = next((exchange.number for exchange in world.exchanges if is_same_request(exchange, request)), 0)
    what, *advice = problem.what.splitlines() or [""]
    asked, sent = f"{request.method} {request.path}", _sent_gist(request)
    head = f"Request {number}, {asked}, could not be answered:"
    again = _find_same_request(world, request, number)
    if again and (hang_up := describe_hang_up(world, again.number)):
        left = f"{head} the client {hang_up} and sent it again."
        return Cause(left, number, "hang_up", general=HANG_UP, where=what, sent=sent, fix=HANG_UP_FIX)
    why = f"request {again.number} was identical and took a turn: {SAME_REQUEST}" if again else ""
    shown = [line.strip() for line in problem.shown]
    fix = " ".join(line.strip() for line in [*advice, *problem.fix.splitlines()])
    general = f"{asked} could not be answered: {what}"
    told = {"where": "\n".join(shown), "sent": sent, "why": why, "fix": fix}
    return Cause(f"{head} {what}", number, "unanswered", general=general, **told)


def failed_causes(world: World) -> list[Cause]:
    """Explain the requests that the server failed to answer, which the journal may lack."""
    return [
        Cause(
            f"The server failed to answer {pluralize(count, 'request')}: {problem.what}",
            kind="unanswered",
            general=f"The server failed to answer: {problem.what}",
            fix=problem.fix,
        )
        for problem, count in world.all_failed.items()
    ]


def unanswered_finding(exchange: Exchange, expected: bool) -> ReportFinding:
    """Build the finding for a request that could not be answered."""
    message = str(answer_error(exchange)["message"])
    return ReportFinding("unanswered", expected, message, exchange=exchange.number, fix=UNANSWERED_FIX)


def hang_up_causes(world: World) -> list[Cause]:
    """Explain the answers that the client did not wait for, newest first."""
    described = ((exchange.number, describe_hang_up(world, exchange.number)) for exchange in reversed(world.exchanges))
    return [
        Cause(f"The client {text}.", number, "hang_up", general=HANG_UP, fix=HANG_UP_FIX)
        for number, text in described
        if text
    ]


def describe_hang_up(world: World, number: int) -> str:
    """Describe after how long the client hung up on a request; empty if it did not."""
    left = world.edge[number].left if number in world.edge else None
    return "" if left is None else f"hung up on request {number} after {left:.1f} s"


def miss_cause(problem: Problem, hint: str) -> Cause:
    """Explain a request that is not in a cassette: the harness's answer, the lines of its diff, the fix or a hint."""
    differing = changed_lines(problem.shown)
    gone, added = ([line for line in differing if line[0] == sign][:MAX_DIFFERING] for sign in "-+")
    hidden = len(differing) - len(gone) - len(added)
    more = [f"… {pluralize(hidden, 'line')} more"] if hidden else []
    where = "\n".join([*gone, *added, *more])
    return Cause(problem.what.partition("\n")[0], kind="unanswered", where=where, fix=problem.fix or hint)


def changed_lines(diff: Sequence[str]) -> list[str]:
    """Return the removed and added lines of a unified diff, without its header."""
    return [line for line in diff[2:] if line.startswith(("-", "+"))]


def has_problem(world: World, exchange: Exchange) -> bool:
    """Return whether the harness could not answer the request of an exchange."""
    return any(is_same_request(exchange, request) for request, _ in world.problems)


def is_same_request(exchange: Exchange, request: Request) -> bool:
    """Return whether an exchange belongs to a request, or to the WebSocket event that contains it."""
    return exchange.request is request or (request.raw != b"" and exchange.request.raw is request.raw)


def _find_same_request(world: World, request: Request, number: int) -> Exchange | None:
    """Find the newest exchange before `number` that answered the same request."""
    asked = (request.method, request.path, request.body)
    earlier = (exchange for exchange in reversed(world.exchanges) if exchange.number < number and exchange.status < 400)
    sent = ((exchange, exchange.request) for exchange in earlier)
    return next((exchange for exchange, before in sent if (before.method, before.path, before.body) == asked), None)


def _sent_gist(request: Request) -> str:
    """Summarize the last input item of a request, or its path."""
    input = request.body.get("input") if isinstance(request.body, dict) else None
    last = input[-1] if isinstance(input, list) and input else {"role": "user", "content": input}
    return summarize_item(last) if input else f"{request.method} {request.path}"
