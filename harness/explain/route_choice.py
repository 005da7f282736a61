"""Lists the routes that a request was tried against and why each did not answer it; computed on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from re import Pattern
from typing import Any

from harness.analysis.lanes import asks_model, is_probe
from harness.core.errors import HarnessError, describe_code
from harness.core.exchange import Exchange, Request
from harness.core.json_values import as_object, as_string
from harness.core.text import shorten
from harness.core.vocabulary import Vocabulary
from harness.explain.unanswered import has_problem
from harness.items.transcript import Transcript, resolve_transcript
from harness.world.conditions import Matcher
from harness.world.route import Route
from harness.world.world import World

MAX_SHOWN = 80
"""The maximum number of characters shown of a value in a request."""


@dataclass(frozen=True, slots=True)
class TriedRoute:
    """A route that a request was tried against: the number of the `turn` that answered, else 0 and `why` not."""

    route: str
    turn: int = 0
    why: str = ""


def tried_routes(world: World, exchange: Exchange) -> list[TriedRoute]:
    """List the routes that a request was tried against, in order; the last one answered, if any did.

    A request that a rule refused was tried against no route; a request for a path that the API lacks, against all
    routes of `mock.route`.
    """
    if is_probe(exchange) or exchange.is_routed:
        return list(_tried_paths(world, exchange))
    if not asks_model(exchange.request):
        return []
    taken = world.answered_by.taken.get(exchange.number)
    if taken is None and not has_problem(world, exchange):
        return []
    return list(_tried_routes(world, exchange, taken[0] if taken else None, taken[1] if taken else 0))


def _tried_routes(world: World, exchange: Exchange, answered: object, turn: int) -> Iterator[TriedRoute]:
    request, transcript = exchange.request, _read_transcript(world, exchange)
    for route in world.script.all_routes:
        if route is answered:
            yield TriedRoute(str(route), turn)
            return
        yield TriedRoute(str(route), why=_why_not(route, request, transcript, world.vocabulary))


def _read_transcript(world: World, exchange: Exchange) -> Transcript:
    """Return what the model read then: a conversation has gone on since."""
    body, store = as_object(exchange.request.body), world.store
    answered = store.responses.get(as_string(as_object(exchange.answer.body).get("id")))
    before = answered and answered.chain.previous
    return resolve_transcript(before, body, store.items) if before else store.transcript(body)


def _tried_paths(world: World, exchange: Exchange) -> Iterator[TriedRoute]:
    request, taken = exchange.request, world.answered_by.taken.get(exchange.number)
    for routed in world.routed:
        if taken and routed is taken[0]:
            yield TriedRoute(str(routed), taken[1])
            return
        is_other_method = routed.method != request.method
        why = f"the request is a {request.method}" if is_other_method else f"the path is {request.path}"
        yield TriedRoute(str(routed), why=why)


def _why_not(route: Route, request: Request, transcript: Transcript, words: Vocabulary) -> str:
    """Describe the first condition of a route that a request does not meet."""
    try:
        unmet = route.unmet_conditions(request, transcript)
    except HarnessError as problem:
        return str(problem)
    return describe_unmet(*unmet[0], words) if unmet else "it had no turns left, or none yet"


def describe_unmet(name: str, wanted: Matcher, actual: Any, words: Vocabulary) -> str:
    """Describe how a request fails a condition: `instructions does not contain 'planner': 'You are ops.'`."""
    sent = shorten(words.render_value(actual), MAX_SHOWN)
    if callable(wanted):
        return f"{name}: {describe_code(wanted)} rejects {sent}"
    if isinstance(wanted, Pattern):
        return f"{name} does not match {words.render_value(wanted.pattern)}: {sent}"
    if name == "model":
        return f"model is {sent}, not {words.render_value(wanted)}"
    if name != "tools":
        return f"{name} does not contain {words.render_value(wanted)}: {sent}"
    missing = sorted(set([wanted] if isinstance(wanted, str) else wanted) - set(actual))
    return f"tools does not contain {', '.join(map(words.render_value, missing))}: {sent}"
