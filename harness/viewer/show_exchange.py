"""An exchange in the viewer, apart from its transcript: what was sent, and how and when it was delivered."""

from collections.abc import Iterator, Mapping, Sequence
from linecache import getlines
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, NamedTuple, TypeGuard

from harness.analysis.flow import FlowStep, item_line
from harness.answers.encode import cut_into_pieces, encode_frames, encode_partial_event
from harness.api.costs import find_cost_of
from harness.api.responses import SOCKET
from harness.core.delivery import Delivery, SendTimes
from harness.core.exchange import Exchange, Json, Request, answer_error
from harness.core.json_values import as_object, omit
from harness.core.secret_prefixes import HIDDEN, SECRET_HEADERS
from harness.core.text import pluralize, shorten
from harness.explain.turn import tried_routes
from harness.viewer.copies import copies_of
from harness.viewer.page_data import AnsweredBy, Edge, ShownExchange, StreamEvent, Tried
from harness.viewer.pool import Pool
from harness.world.world import World


def began_at(world: World) -> float | None:
    """Return when the first request in a World's journal arrived, in unix seconds; None if unknown."""
    first = next((seen for exchange in world.exchanges if (seen := world.edge.get(exchange.number))), None)
    return first.arrived if first else None


UNSEEN = Edge()
"""The edge of an exchange of which nothing was seen there."""


def show_edge(exchange: Exchange, world: World, began: float | None) -> Edge:
    """Convert the edge record of an exchange; for a recording only whether it broke off is known."""
    seen = world.edge.get(exchange.number)
    if seen is None or began is None:
        return Edge(cut=cut) if (cut := exchange.answer.disconnection) else UNSEEN
    return Edge(
        _milliseconds(seen.arrived, began),
        _milliseconds(seen.first_byte, began),
        _milliseconds(seen.last_byte, began),
        seen.events,
        seen.size or None,
        _describe_cut(exchange, seen),
        None if seen.left is None else _milliseconds(seen.arrived + seen.left, began),
        seen.connection or None,
        is_measured(seen),
    )


def _describe_cut(exchange: Exchange, seen: SendTimes) -> str:
    """Describe where an answer broke off; empty if it is complete, or still being sent."""
    if not exchange.answer.disconnection and (seen.whole or not seen.ended):
        return ""
    if exchange.answer.disconnection == "no answer":
        return "no answer"
    return f"cut off after {pluralize(seen.events or 0, 'event')}" if exchange.answer.events is not None else "cut off"


def _milliseconds(at: float | None, began: float) -> float | None:
    return None if at is None else round((at - began) * 1000, 3)


def show_events(exchange: Exchange, world: World, pool: Pool) -> Iterator[StreamEvent]:
    """Yield the events of a stream: when each was or should be sent, whether it was, and the one that broke off."""
    events, seen = exchange.answer.events or (), world.edge.get(exchange.number)
    delivery = exchange.answer.delivery or Delivery()
    # An answer that did not break off was sent in full, even if nothing counted its events.
    went_out = seen.events or 0 if seen and seen.ended and not seen.whole else len(events)
    times = measured_times(seen, len(events)) if is_measured(seen) else plan_times(delivery, len(events))
    is_socket = exchange.request.operation == SOCKET
    sizes = [] if is_socket else list(_piece_sizes(events, delivery))
    for index, event in enumerate(events):
        is_out = index < went_out
        chunks = sizes[index] if is_out and index < len(sizes) else ()
        yield StreamEvent(pool.inside(event), times[index], chunks, is_out)
    if delivery.partial_event is not None:
        part = b"" if is_socket or went_out < len(events) else encode_partial_event(delivery)
        yield StreamEvent(pool.inside(dict(delivery.partial_event)), None, [len(part)] if part else (), delivered=False)


def is_measured(seen: SendTimes | None) -> TypeGuard[SendTimes]:
    """Return whether an answer was sent over a socket, so that its events have times.

    A recording has times of its own.
    """
    return seen is not None and seen.connection > 0


def measured_times(seen: SendTimes, count: int) -> list[float | None]:
    """Return when each event was sent in full, in milliseconds since the first byte; None if it was not."""
    begun = seen.first_byte or seen.arrived
    return [_milliseconds(seen.event_time(index), begun) for index in range(count)]


def plan_times(delivery: Delivery, count: int) -> list[float | None]:
    """Plan when each event is sent, in milliseconds since the first byte.

    None if nothing is planned, and after a gate, since the time at which it opens is unknown.
    """
    times: list[float | None] = []
    paused = at = 0.0
    is_known = bool(delivery.times or delivery.pauses)
    for index in range(count):
        pauses = delivery.pauses_at(index)
        is_known = is_known and not any(pause.until for pause in pauses)
        waited = sum(pause.seconds for pause in pauses)
        paused += waited
        at = max(at + waited, paused + delivery.due_at(index))
        times.append(round(at * 1000, 3) if is_known else None)
    return times


def _piece_sizes(events: Sequence[Json], delivery: Delivery) -> Iterator[Sequence[int]]:
    """Yield the sizes of the pieces of each event, if a fault cuts or frames them."""
    if delivery.chunk_size is None and delivery.frames == Delivery().frames:
        return
    for frame in encode_frames(events, delivery.frames):
        yield [len(piece) for piece in cut_into_pieces(frame, delivery.chunk_size)]


MAX_STATEMENT = 8
"""How many lines of the statement that scripted a turn are shown."""
GIST_WIDTH = 200
"""Maximum length, in characters, of the line about a request or an answer."""
GIST_ITEMS = 3
"""How many items such a line names, the last ones."""
NO_SETTINGS = ("input", "instructions", "tools", "items", "messages")
"""The members of a request that are shown separately."""


class StepLines(NamedTuple):
    """The line about the request of a step, and the one about its answer."""

    gist: str
    said: str


class ExchangeShower:
    """Converts the exchanges of a World."""

    def __init__(self, world: World, pool: Pool, root: str = "") -> None:
        self._pool = pool
        self._world = world
        self._root = root
        self._began = began_at(world)
        self._unexpected = {exchange.number for exchange in world.refusals.unexpected}
        self._headers: dict[tuple[tuple[str, str], ...], list[tuple[str, str]]] = {}

    def show(
        self,
        exchange: Exchange,
        lane: int,
        step: FlowStep,
        lines: StepLines,
        transcript: tuple[Any, int] = (None, 0),
        retry_of: int = 0,
    ) -> ShownExchange:
        """Convert an exchange of a lane; `transcript` comes with the number of its items that are not new."""
        pool, label, world = self._pool, self._pool.label, self._world
        request, answer = exchange.request, exchange.answer
        is_refused = exchange.status >= 400 and not exchange.is_routed
        error = answer_error(exchange) if is_refused else {}
        message, at = (value if isinstance(value := error.get(name), str) else "" for name in ("message", "param"))
        rule = answer.rule or ""
        body = as_object(request.body)
        settings = omit(body, *NO_SETTINGS)
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
            label(lines.gist),
            label(lines.said),
            label(message),
            label(at),
            asked=bool(answer.expected or (rule and exchange.number not in self._unexpected)),
            routed=exchange.is_routed,
            retry_of=retry_of,
            cost=find_cost_of(exchange, world.as_of),
            query=pool.inside(dict(request.query)) if request.query else None,
            request=pool.inside(_sent(request)),
            answer=pool.put(answer.body),
            events=None if answer.events is None else [*show_events(exchange, world, pool)],
            added=[pool.put(item) for item in step.new_items],
            output=[pool.put(item) for item in step.output_items],
            before=transcript[1],
            transcript=transcript[0],
            instructions=pool.put(body.get("instructions")),
            tools=pool.put(body.get("tools")),
            settings=pool.inside(settings) if settings else None,
            request_headers=self._show_headers(request.headers),
            answer_headers=self._show_headers(answer.headers),
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
        where = label(relative_path(origin.file, self._root)), origin.line
        return AnsweredBy(origin.turn, label(origin.route), *where, label(_read_statement(origin.file, origin.line)))

    def _show_headers(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        """List headers in their order; of a secret one only the scheme is shown. The same ones are shown once."""
        key = tuple(headers.items())
        if (known := self._headers.get(key)) is None:
            known = self._headers[key] = [self._show_header(name, value) for name, value in key]
        return known

    def _show_header(self, name: str, value: str) -> tuple[str, str]:
        scheme, space, _ = value.strip().partition(" ")
        hidden = f"{scheme} {HIDDEN}" if space and scheme.isalpha() else HIDDEN
        label = self._pool.label
        return label(name), hidden if name.lower() in SECRET_HEADERS else label(value)


def relative_path(file: str, root: str) -> str:
    """Return a file's path relative to a folder if it is below it, otherwise unchanged."""
    is_below = bool(file and root) and Path(file).is_relative_to(root)
    return Path(file).relative_to(root).as_posix() if is_below else file


def _read_statement(file: str, line: int) -> str:
    """Read the statement that begins in a line of a file, or only the line if it is long or not Python."""
    lines = getlines(file)[max(0, line - 1) :][:MAX_STATEMENT]
    for count in range(1, len(lines) + 1):
        text = dedent("".join(lines[:count])).strip()
        try:
            # Inside a function, where `return` and `await` may stand. `ast.parse` would fail in CPython before 3.11.8
            # when another thread parses at the same time (gh-106905).
            compile(f"async def _():\n{indent(text, ' ')}\n pass", file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        return text
    return lines[0].strip() if lines else ""


def summarize_step(step: FlowStep) -> StepLines:
    """Summarize the request and the answer of a step, in a line each."""
    return StepLines(_gist(step), _said(step))


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
