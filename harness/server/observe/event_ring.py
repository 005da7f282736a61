"""A ring buffer of the newest events in all Worlds of a server, numbered; it records only while a client watches."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from harness.core.delivery import SendRecord, SendTimes
from harness.core.exchange import Answer, Exchange, Json
from harness.core.json_values import as_object
from harness.core.text import shorten
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.world.world import World

MOST_EVENTS = 10_000
"""How many events are kept; the oldest are dropped first."""
MOST_SHOWN = 200
"""How many characters of a path or a model are shown."""
UNWATCHED_SECONDS = 60.0
"""Seconds for which events are still recorded after the last reader has gone, so that it can reconnect."""


class LiveEvent(NamedTuple):
    """An event in a World: its `kind`, the `number` of the exchange (0 without an exchange), and the data to show.

    `row` holds the times of an `edge` event, and is a mapping for all others.
    """

    world: str
    kind: str
    number: int
    row: Json | SendTimes


class EventRing(ApiObserver):
    """Records events from the first read on, for as long as they are read; `last` is the number of the newest.

    unwatched ──a client looks──> watched ──no listener for UNWATCHED_SECONDS──> unwatched, and empty

    Requests may be answered in any thread while another one reads.
    """

    least_status = 0

    def __init__(self, api: MockApi) -> None:
        self.last = 0
        self._api = api
        self._events: deque[LiveEvent] = deque(maxlen=MOST_EVENTS)
        self._names: dict[str, str] = {}
        self._listeners = 0
        self._looked_at = 0.0
        self._lock = Lock()

    def look(self) -> int:
        """Start recording events, and return the number of the newest so far."""
        self._looked_at = monotonic()
        if self not in self._api.observers.all:
            self._api.observers.add(self)
        return self.last

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record events for the duration of a `with` block."""
        self.look()
        self._listeners += 1
        try:
            yield
        finally:
            self._listeners -= 1
            self._looked_at = monotonic()

    def read(self, after: int, most: int) -> tuple[int, list[LiveEvent]]:
        """Return the number of the first kept event after a number, and the events from there on, at most `most`.

        A number that was never reached, for example one from another server, starts at the oldest kept event.
        """
        with self._lock:
            first = self.last - len(self._events) + 1
            start = after + 1 if first <= after + 1 <= self.last + 1 else first
            return start, list(islice(self._events, start - first, start - first + most))

    def on_opened(self, world: World) -> None:
        """Record a new World."""
        self._add(world, "world", 0, {})

    def on_closed(self, world: World) -> None:
        """Record that a World is forgotten."""
        self._add(world, "closed", 0, {})
        self._names.pop(world.api_key, None)

    def on_changed(self, world: World, what: str) -> None:
        """Record what a control request has changed."""
        self._add(world, what, 0, {})

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Record an exchange, and its edge once the answer has been sent."""
        world = answered.world
        exchange = _find_exchange(world, answered.answer) if world else None
        if world is None or exchange is None:
            return
        self._add(world, "exchange", exchange.number, _describe(exchange))
        record = world.edge.records.get(exchange.number)
        # A stream is still going out; what the edge sees of it comes as an event of its own.
        if isinstance(record, SendRecord) and not record.ended:
            record.on_end = partial(self._on_end, world, exchange.number)
        elif record is not None:
            self._add(world, "edge", exchange.number, world.edge[exchange.number])

    def _on_end(self, world: World, number: int, record: SendRecord) -> None:
        self._add(world, "edge", number, record.times)

    def _add(self, world: World, kind: str, number: int, row: Json | SendTimes) -> None:
        if not self._listeners and monotonic() - self._looked_at > UNWATCHED_SECONDS:
            self._stop()
            return
        name = self._names.get(world.api_key)
        if name is None:
            name = self._names[world.api_key] = shown_name(world)
        with self._lock:
            self._events.append(LiveEvent(name, kind, number, row))
            self.last += 1

    def _stop(self) -> None:
        """Stop collecting; a listener that returns learns of the gap from the numbers."""
        self._api.observers.remove(self)
        self._names.clear()
        with self._lock:
            self._events.clear()
            self.last += 1


def _find_exchange(world: World, answer: Answer) -> Exchange | None:
    """Find the exchange of an answer, usually the newest, as other threads may have answered since; None if dropped."""
    return next((exchange for exchange in reversed(world.exchanges) if exchange.answer is answer), None)


def _describe(exchange: Exchange) -> dict[str, Any]:
    request, answer = exchange.request, exchange.answer
    model = as_object(request.body).get("model")
    return {
        "method": request.method,
        "path": shorten(request.path, MOST_SHOWN),
        "operation": request.operation,
        "model": shorten(model, MOST_SHOWN) if isinstance(model, str) else None,
        "status": answer.status,
        "rule": answer.rule,
        "stream": answer.events is not None,
    }
