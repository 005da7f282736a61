"""The events of a stream as the viewer shows them: when each was to go out, in which pieces, and where the stream ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.answers.encode import cut_into_pieces, encode_frames, encode_partial_event
from harness.api.http.websocket_mode import SOCKET
from harness.core.delivery import Delivery
from harness.core.exchange import Exchange, Json
from harness.viewer.case_model import StreamEvent
from harness.viewer.pool import Pool
from harness.world.world import World


def show_events(exchange: Exchange, world: World, pool: Pool) -> Iterator[StreamEvent]:
    """Show the events of a stream: when each went out, whether it did, and the one that was broken off."""
    events, seen = exchange.answer.events or (), world.edge.get(exchange.number)
    delivery = exchange.answer.delivery or Delivery()
    went_out = seen.events or 0 if seen and seen.ended and not seen.whole else len(events)
    times = plan_times(delivery, len(events))
    is_socket = exchange.request.operation == SOCKET
    sizes = [] if is_socket else list(_piece_sizes(events, delivery))
    for index, event in enumerate(events):
        is_out = index < went_out
        chunks = sizes[index] if is_out and index < len(sizes) else ()
        yield StreamEvent(pool.inside(event), times[index], chunks, is_out)
    if delivery.partial_event is not None:
        part = b"" if is_socket or went_out < len(events) else encode_partial_event(delivery)
        yield StreamEvent(pool.inside(dict(delivery.partial_event)), None, [len(part)] if part else (), delivered=False)


def plan_times(delivery: Delivery, count: int) -> list[float | None]:
    """Plan when each event goes out, in milliseconds since the first byte.

    None where nothing is planned, and from a gate on, as nobody knows when it is opened.
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
    """Yield the sizes of the pieces of each event, where a fault says how it is cut or framed."""
    if delivery.chunk_size is None and delivery.frames == Delivery().frames:
        return
    for frame in encode_frames(events, delivery.frames):
        yield [len(piece) for piece in cut_into_pieces(frame, delivery.chunk_size)]
