"""An exchange in the viewer, apart from its transcript."""

from __future__ import annotations

from typing import Any

from harness.analysis.flow_steps import FlowStep, item_line
from harness.core.exchange import Exchange, Request, answer_error
from harness.core.json_values import as_object
from harness.core.text import shorten
from harness.explain.unanswered import tried_routes
from harness.viewer.case_model import AnsweredBy, ShownExchange, Tried
from harness.viewer.copies import copies_of
from harness.viewer.pool import Pool
from harness.viewer.run_facts import relative_path
from harness.viewer.secrets import show_headers
from harness.viewer.show_delivery import began_at, show_edge, show_events
from harness.world.world import World

GIST_WIDTH = 200
"""Maximum length, in characters, of the line about a request or an answer."""
GIST_ITEMS = 3
"""How many items such a line names, the last ones."""
NO_SETTINGS = ("input", "instructions", "tools", "items", "messages")
"""The members of a request that are shown separately."""


class ExchangeShower:
    """Converts the exchanges of a World."""

    def __init__(self, world: World, pool: Pool, root: str = "") -> None:
        self._pool = pool
        self._world = world
        self._root = root
        self._began = began_at(world)
        self._unasked = {exchange.number for exchange in world.refusals.unasked}

    def show(self, exchange: Exchange, lane: int, step: FlowStep) -> ShownExchange:
        """Convert an exchange of a lane."""
        pool, label, world = self._pool, self._pool.label, self._world
        request, answer = exchange.request, exchange.answer
        is_refused = exchange.status >= 400 and not exchange.is_routed
        error = answer_error(exchange) if is_refused else {}
        message, at = (value if isinstance(value := error.get(name), str) else "" for name in ("message", "param"))
        rule = answer.rule or ""
        body = as_object(request.body)
        settings = {name: value for name, value in body.items() if name not in NO_SETTINGS}
        copies = copies_of(exchange, rule, message)
        return ShownExchange(
            exchange.number,
            lane,
            request.method,
            label(request.path),
            request.operation,
            request.dialect,
            answer.status,
            rule,
            label(_gist(step)),
            label(_said(step)),
            label(message),
            label(at),
            asked=bool(answer.asked or (rule and exchange.number not in self._unasked)),
            routed=exchange.is_routed,
            query=pool.inside(dict(request.query)) if request.query else None,
            request=pool.inside(_sent(request)),
            answer=pool.put(answer.body),
            events=None if answer.events is None else [*show_events(exchange, world, pool)],
            added=[pool.put(item) for item in step.new_items],
            output=[pool.put(item) for item in step.output_items],
            instructions=pool.put(body.get("instructions")),
            tools=pool.put(body.get("tools")),
            settings=pool.inside(settings) if settings else None,
            request_headers=show_headers(request.headers, label),
            answer_headers=show_headers(answer.headers, label),
            edge=show_edge(exchange, world, self._began),
            answered_by=self._show_origin(exchange.number),
            tried=[Tried(label(route.route), label(route.why)) for route in tried_routes(world, exchange)],
            copies={name: pool.clean(text) for name, text in copies.items()},
        )

    def _show_origin(self, number: int) -> AnsweredBy | None:
        """Return which turn answered, and where it was scripted."""
        if (origin := self._world.answered_by.get(number)) is None:
            return None
        label = self._pool.label
        return AnsweredBy(origin.turn, label(origin.route), label(relative_path(origin.file, self._root)), origin.line)


def summarize_step(step: FlowStep) -> str:
    """Summarize a step in one line, for search."""
    return " ".join(filter(None, [step.lane, step.endpoint, _gist(step), _said(step)]))


def _sent(request: Request) -> Any:
    if request.fault or (request.body is None and request.raw):
        return request.raw.decode("utf-8", "replace")
    return request.body


def _gist(step: FlowStep) -> str:
    lines = [item_line(item) for item in step.new_items[-GIST_ITEMS:]]
    hidden = len(step.new_items) - len(lines)
    more = [f"… {hidden} more"] if hidden > 0 else []
    return shorten(" · ".join([*more, *lines]) or step.endpoint or "nothing new", GIST_WIDTH)


def _said(step: FlowStep) -> str:
    lines = [item_line(item) for item in step.output_items[-GIST_ITEMS:]]
    return shorten(" · ".join(filter(None, [*lines, step.status, step.failure])), GIST_WIDTH)
