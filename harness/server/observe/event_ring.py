"""A ring buffer of the newest events in all Worlds of a server, numbered; it collects only while a viewer is listening."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from harness.core.edge import EdgeRecord, EdgeTimes
from harness.core.exchange import Answer, Exchange, Json
from harness.core.loose_json import as_object
from harness.core.text.shorten import shorten
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.world.world import World

MOST_EVENTS = 10_000
"""How many events are kept, the newest."""
MOST_SHOWN = 200
"""Characters of a path or a model that are shown."""
UNWATCHED_SECONDS = 60.0
"""How long events are still gathered when the last who looked at them has gone: time to come again."""


class LiveEvent(NamedTuple):
    """Something that happened in a World: the `kind`, the exchange it is about (0 without any), and what is shown.

    The row of an `edge` are its times, else it is a mapping.
    """

    world: str
    kind: str
    number: int
    row: Json | EdgeTimes


class EventRing(ApiObserver):
    """Gathers events from the first look on, as long as somebody looks; `last` is the number of the newest.

    unwatched ──somebody looks──> watched ──nobody has listened for UNWATCHED_SECONDS──> unwatched, and empty

    Any thread may answer requests while another reads.
    """

    def __init__(self, api: MockApi) -> None:
        self.last = 0
        self._api = api
        self._events: deque[LiveEvent] = deque(maxlen=MOST_EVENTS)
        self._names: dict[str, str] = {}
        self._listeners = 0
        self._looked_at = 0.0
        self._lock = Lock()

    def look(self) -> int:
        """Gather events from now on; returns the number of the newest so far."""
        self._looked_at = monotonic()
        if self not in self._api.observers.all:
            self._api.observers.add(self)
        return self.last

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Gather events while a block runs."""
        self.look()
        self._listeners += 1
        try:
            yield
        finally:
            self._listeners -= 1
            self._looked_at = monotonic()

    def read(self, after: int, most: int) -> tuple[int, list[LiveEvent]]:
        """Return the next kept events after a number, and the number of the first.

        After a number that was never reached, as by another server, it begins with the oldest.
        """
        with self._lock:
            first = self.last - len(self._events) + 1
            start = after + 1 if first <= after + 1 <= self.last + 1 else first
            return start, list(islice(self._events, start - first, start - first + most))

    def on_opened(self, world: World) -> None:
        """Note a new World."""
        self._add(world, "world", 0, {})

    def on_closed(self, world: World) -> None:
        """Note that a World is forgotten."""
        self._add(world, "closed", 0, {})
        self._names.pop(world.api_key, None)

    def on_changed(self, world: World, what: str) -> None:
        """Note what a control request has changed."""
        self._add(world, what, 0, {})

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Note an exchange, and what the edge sees of its answer once that is out."""
        world = answered.world
        exchange = _find_exchange(world, answered.answer) if world else None
        if world is None or exchange is None:
            return
        self._add(world, "exchange", exchange.number, _describe(exchange))
        record = world.edge.records.get(exchange.number)
        # A stream is still going out; what the edge sees of it comes as an event of its own.
        if isinstance(record, EdgeRecord) and not record.ended:
            record.on_end = partial(self._on_end, world, exchange.number)
        elif record is not None:
            self._add(world, "edge", exchange.number, world.edge[exchange.number])

    def _on_end(self, world: World, number: int, record: EdgeRecord) -> None:
        self._add(world, "edge", number, record.times)

    def _add(self, world: World, kind: str, number: int, row: Json | EdgeTimes) -> None:
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
    """Find the exchange of an answer: the newest, unless other threads have answered since; None when it was dropped."""
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
