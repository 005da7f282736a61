"""The control plane's view of all Worlds, for holders of the token: a list, and a stream of events."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse

from harness.core.delivery import SendRecord, SendTimes
from harness.core.exchange import Answer, Exchange, Json
from harness.core.json_values import as_object
from harness.core.text import shorten
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.control_plane.requests import EventNumber, api_of, send_json
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.server.transport.asgi_types import STOPPING
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

    def start(self) -> int:
        """Start recording events, and return the number of the newest so far."""
        self._looked_at = monotonic()
        if self not in self._api.observers.all:
            self._api.observers.add(self)
        return self.last

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record events for the duration of a `with` block."""
        self.start()
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


POLL_SECONDS = 0.05
"""Seconds between two reads of the event ring; everything that arrived meanwhile is sent together."""
KEEP_ALIVE_SECONDS = 15.0
"""Seconds without an event after which a comment is sent, so that proxies and clients keep the connection."""
MOST_AT_ONCE = 1_000
"""How many events are sent together at most."""
NEWEST = 100
"""How many of a World's newest exchanges are searched for streams that are still being sent."""


async def worlds(request: Request) -> Response:
    """List the Worlds of this server, the last used at the end, and the number of the newest `event` before the list.

    Each World has its `name`, the time it was `created` (unix seconds), the number of `exchanges` in its journal, the
    number of the `newest`, how many `refusals` there were and how many of them `unexpected`, the `turns` left in its
    script, and how many `open_streams` are being sent.
    """
    newest = request.app.state.ring.start()
    rows = [orjson.Fragment(orjson.dumps(_describe_world(world))) async for world in api_of(request).each_world()]
    return send_json({"event": newest, "worlds": rows})


async def events(
    request: Request,
    after: EventNumber | None = None,
    last_event_id: Annotated[EventNumber | None, Header()] = None,
) -> StreamingResponse:
    """Stream what happens in all Worlds as server-sent events: from now on, or after the event with number `?after=`.

    Each event has its number as `id`, and JSON: the `world`, the `kind`, the `number` of its exchange if it is about
    one, and what is new. Kinds are `exchange`, `edge` (its answer was sent or cut, or the client disconnected),
    `world`, `closed`, and control requests that changed something: `script`, `advance`, … Events that are no longer
    kept are replaced by a `gap`, after which a client must read everything again. A client that reconnects with
    `Last-Event-ID` continues where it stopped.
    """
    ring: EventRing = request.app.state.ring
    seen = after if last_event_id is None else last_event_id
    position = ring.last if seen is None else seen
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    frames = _stream_events(ring, position, request.scope.get("state", {}))
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _stream_events(ring: EventRing, position: int, connection: Mapping[str, Any]) -> AsyncIterator[bytes]:
    """Yield the events after a position until the server stops."""
    loop = asyncio.get_running_loop()
    with ring.listening():
        yield b"retry: 1000\n\n"
        told_at = loop.time()
        while not connection.get(STOPPING):
            start, found = ring.read(position, MOST_AT_ONCE)
            # The ring keeps a bounded number of events: a slow reader is told what it missed.
            if start != position + 1:
                yield _encode(start - 1, orjson.dumps({"kind": "gap", "after": position, "first": start}))
                position = start - 1
            if found:
                yield b"".join(_encode_event(number, event) for number, event in enumerate(found, start))
                position += len(found)
            elif loop.time() - told_at > KEEP_ALIVE_SECONDS:
                yield b": nothing new\n\n"
            else:
                await asyncio.sleep(POLL_SECONDS)
                continue
            told_at = loop.time()
            await asyncio.sleep(POLL_SECONDS)


def _encode_event(id: int, event: LiveEvent) -> bytes:
    """Encode an event: the members that all events have, then its row."""
    head: Json = {"world": event.world, "kind": event.kind}
    if event.number:
        head["number"] = event.number
    encoded, row = orjson.dumps(head), orjson.dumps(event.row)
    # Joined as bytes: a row may be a dataclass, which only orjson turns into an object.
    return _encode(id, encoded if row == b"{}" else b"%b,%b" % (encoded[:-1], row[1:]))


def _encode(id: int, data: bytes) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (id, data)


def _describe_world(world: World) -> Json:
    recent = (world.edge.records.get(exchange.number) for exchange in world.exchanges[-NEWEST:])
    return {
        "name": shown_name(world),
        "created": world.created,
        "exchanges": len(world.exchanges),
        "newest": world.exchange_count,
        "refusals": world.refusals.count,
        "unexpected": len(world.refusals.unexpected),
        "turns": sum(len(route.turns) for route in world.script.all_routes),
        "open_streams": sum(
            not isinstance(record, tuple) and record is not None and record.stream is not None and not record.ended
            for record in recent
        ),
    }
