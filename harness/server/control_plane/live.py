"""The control plane's view of all Worlds, for holders of the token: a list, and a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

import orjson
from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse

from harness.core.exchange import Json
from harness.server.control_plane.requests import EventNumber, api_of, send_json
from harness.server.keyed_worlds import shown_name
from harness.server.observe.event_ring import EventRing, LiveEvent
from harness.server.transport.asgi_types import STOPPING
from harness.world.world import World

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
    newest = _ring_of(request).look()
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
    ring = _ring_of(request)
    seen = after if last_event_id is None else last_event_id
    position = ring.last if seen is None else seen
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    told = _tell(ring, position, request.scope.get("state", {}))
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


def _ring_of(request: Request) -> EventRing:
    state = request.app.state
    if not hasattr(state, "ring"):
        state.ring = EventRing(state.api)
    ring: EventRing = state.ring
    return ring


async def _tell(ring: EventRing, position: int, connection: Mapping[str, Any]) -> AsyncIterator[bytes]:
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
