"""How a response is streamed: `events` tells it, `fold` reads it back and checks it, `frames` puts it on the wire.

An item's own events are its kind's sentence (`harness.items.stream_grammar`). The pens that write it and read it,
`harness.answers.writer` and `harness.answers.reader`, alone frame items with `output_item.added` and `.done`, and stamp
`item_id`, `output_index` and `sequence_number`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from harness.answers.reader import EventReader, StreamError
from harness.answers.writer import DeltaSeries, EventSequence, EventWriter, encode_event, split_into_tokens
from harness.api.statuses import ENDED_STATUSES
from harness.core.exchange import Finding, Json
from harness.items.kind import Item

__all__ = ["StreamError", "encode_events", "fold", "read_recorded", "render_events", "split_into_tokens"]


def render_events(
    response: Json, *, items: Sequence[Item | None] = (), obfuscate: bool = True, background: bool = False
) -> EventSequence:
    """All events of a finished response, from `response.created` on, numbered from 0.

    `items` are what its output was made from, in order, for their exact deltas. `obfuscate` pads every text delta to a
    multiple of 16 characters; a `background` response is queued first and never padded. A response that is not
    finished is a StreamError.
    """
    if response["status"] not in ENDED_STATUSES:
        raise StreamError(
            0,
            f"the response is {response['status']!r}; only one that is {_join_with_or(ENDED_STATUSES)} is streamed",
        )
    writer = EventWriter(obfuscate and not background)
    writer.write_opening(response, background)
    output = response["output"]
    # Recorded: the item at which a response fails is never done.
    open_from = len(output) - (response["status"] == "failed")
    for index, (wire, item) in enumerate(zip_longest(output, items[: len(output)])):
        writer.write_item(index, wire, item.deltas if item else {}, index >= open_from)
    writer.write_closing(response)
    return writer.events


def encode_events(events: Sequence[Json]) -> bytes:
    """The events as server-sent events, in UTF-8; nothing follows the last one."""
    parts = events.parts if isinstance(events, EventSequence) else events
    return b"".join([part.encode() if isinstance(part, DeltaSeries) else encode_event(part) for part in parts])


def fold(events: Sequence[Json]) -> Json:
    """The response that a whole stream adds up to; its output comes from the items' own events.

    Every event must be the one that its item's kind says next, deltas must add up to what `done` says, numbers rise by
    one from 0: otherwise a StreamError. Passed over, because recorded streams do so: `keepalive`, what follows the
    terminal event, ciphertexts that differ from event to event, rounded logprobs or none, a reasoning summary that
    `max_output_tokens` cut and that is told anew or not at all.
    """
    response, drift = _read_events(events)
    for index, _, message in drift:
        raise StreamError(index, message)
    return response


def read_recorded(events: Sequence[Json]) -> tuple[Json, list[Finding]]:
    """Like `fold`, for recorded streams: the response, and what in its stream is new or left out.

    Found, each with its place (`events[4]`), and no StreamError: an item of a kind that nobody knows (`unknown_kind`),
    which is taken as its `done` says; a stream without numbers (`unnumbered`); a terminal event without the output
    (`output_left_out`).
    """
    response, drift = _read_events(events)
    return response, [Finding(f"events[{index}]", message, rule) for index, rule, message in drift]


def _read_events(events: Sequence[Json]) -> tuple[Json, list[tuple[int, str, str]]]:
    reader = EventReader(events)
    started = reader.read_opening()
    output: list[Json] = []
    while reader.next_type == "response.output_item.added":
        output.append(reader.read_item(len(output)))
    return reader.read_closing(started, output), reader.drift


def _join_with_or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
