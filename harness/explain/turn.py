"""Explains turns of a script that no request took, and tests in which no request came at all."""

from __future__ import annotations

from typing import Any

from harness.analysis.lanes import asks_model
from harness.core.delivery import Fault
from harness.core.errors import describe_code
from harness.core.exchange import Answer
from harness.core.json_values import is_model
from harness.core.text import pluralize, show, summarize_item
from harness.ending import Ending
from harness.explain.model import Cause, ReportFinding
from harness.explain.unanswered import has_problem
from harness.items import message
from harness.items.kind import Item
from harness.world.route import Repeated, Route
from harness.world.routed import RoutedPath
from harness.world.world import World

MAX_UNUSED = 6
"""The maximum number of unused turns that are listed."""
UNUSED_FIX = "Remove the turn"


def unused_cause(world: World) -> Cause:
    """Explain turns and answers that no request took: their routes and items, and how to allow them."""
    turns = len(world.script.unused)
    answers = len(world.unused) - turns
    counted = [pluralize(turns, "turn") + " of the script"] if turns else []
    counted += [pluralize(answers, "answer") + " of mock.route"] if answers else []
    asked = [exchange for exchange in world.exchanges if asks_model(exchange.request)]
    last = asked[-1] if asked else None
    refused = last if last and last.status >= 400 and not has_problem(world, last) else None
    return Cause(
        f"{' and '.join(counted)} {'was' if len(world.unused) == 1 else 'were'} never used.",
        kind="unused",
        where=list_unused(world),
        why=f"request {refused.number}, the last one, was refused and therefore took no turn" if refused else "",
        fix="Remove the turns that are not needed, or find out why no request came for them.",
        allow=world.vocabulary.allow_unused,
    )


def empty_route_cause(route: Route) -> Cause:
    """Explain a route that answers nothing, because `when` was given no turn."""
    return Cause(
        f"{route} has no turns, so it answers no requests.",
        kind="unused",
        where=route.made_at.short,
        fix="Add one, such as `.script(message('…'))`, after the condition, or remove the condition.",
        allow=route.vocabulary.allow_unused,
    )


def no_request_cause(world: World) -> Cause:
    """Explain that no request came at all: how clients find the mock, and the turns that are waiting."""
    words = world.vocabulary
    if world.not_awaited:
        return Cause(
            "No request came, and a call was never awaited.",
            kind="no_request",
            where="\n".join(world.not_awaited),
            unused=list_unused(world),
            fix="Write `await` before the call of an async client, or run the coroutine; until then it sends nothing.",
        )
    return Cause(
        f"No request came with this test's key {world.api_key}.",
        kind="no_request",
        unused=list_unused(world),
        fix=f"The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY{words.too_early}, or be passed "
        f"{words.base_url} and {words.api_key}.",
    )


def unused_findings(world: World, expected: bool) -> list[ReportFinding]:
    """Build a finding for each turn and answer that no request took."""
    allow = world.vocabulary.allow_unused
    fix = f"{UNUSED_FIX}, or allow it: {allow}." if allow else f"{UNUSED_FIX}."
    return [ReportFinding("unused", expected, summarize_unused(route, turn), fix=fix) for route, turn in world.unused]


def list_unused(world: World) -> str:
    """Summarize the first unused turns and answers, one line each."""
    lines = [summarize_unused(route, turn) for route, turn in world.unused[:MAX_UNUSED]]
    hidden = len(world.unused) - len(lines)
    return "\n".join([*lines, *([f"… {hidden} more"] if hidden else [])])


def summarize_unused(route: Route | RoutedPath, turn: Any) -> str:
    """Summarize an unused turn, or one answer of a list, in one line that names the route."""
    if not isinstance(route, RoutedPath):
        return f"{route}: {summarize_turn(turn)}"
    if isinstance(turn, Fault) or (callable(turn) and not is_model(turn)):
        return f"{route}: {_summarize_line(turn)}"
    status, body = (turn.status, turn.body) if isinstance(turn, Answer) else (route.status, turn)
    return f"{route}: {status} {show(body, 80)}"


def summarize_turn(turn: Any) -> str:
    """Summarize a turn in one line: items, ending, faults."""
    if isinstance(turn, Repeated):
        return f"{', '.join(map(summarize_turn, turn.turns))}, repeated"
    return " + ".join(map(_summarize_line, turn if isinstance(turn, list | tuple) else [turn]))


def _summarize_line(line: Any) -> str:
    """Summarize an item, ending or fault of a turn (a string is a message), or name a function."""
    if isinstance(line, str):
        line = message(line)
    if isinstance(line, Item):
        return summarize_item({**line.members, "role": line.type})
    if isinstance(line, Ending):
        return "empty" if line.is_empty else line.status
    if isinstance(line, Fault):
        return type(line).__name__.lower()
    return f"the function {describe_code(line)}"
