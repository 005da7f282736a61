"""The delivery of an answer in the viewer: times in milliseconds since the case began, and each event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from harness.answers.encode import cut_into_pieces, encode_frames, encode_partial_event
from harness.api.responses import SOCKET
from harness.core.delivery import Delivery, EdgeTimes
from harness.core.exchange import Exchange, Json
from harness.core.text import pluralize
from harness.viewer.case_model import Edge, StreamEvent
from harness.viewer.pool import Pool
from harness.world.world import World


def began_at(world: World) -> float | None:
    """Return when the first request in a World's journal arrived, in unix seconds; None if unknown."""
    first = next((seen for exchange in world.exchanges if (seen := world.edge.get(exchange.number))), None)
    return first.arrived if first else None


def show_edge(exchange: Exchange, world: World, began: float | None) -> Edge:
    """Convert the edge record of an exchange; for a recording only whether it broke off is known."""
    seen = world.edge.get(exchange.number)
    if seen is None or began is None:
        return Edge(cut=exchange.answer.disconnection)
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


def _describe_cut(exchange: Exchange, seen: EdgeTimes) -> str:
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


def is_measured(seen: EdgeTimes | None) -> TypeGuard[EdgeTimes]:
    """Return whether an answer was sent over a socket, so that its events have times.

    A recording has times of its own.
    """
    return seen is not None and seen.connection > 0


def measured_times(seen: EdgeTimes, count: int) -> list[float | None]:
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
