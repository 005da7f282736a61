"""Streams of responses: `render_events` writes them, `fold` reads and checks them, `encode_events` encodes them.

The events of an item follow from the grammar of its kind (`harness.items.stream_grammar`). Its two visitors,
`harness.answers.writer` and `harness.answers.reader`, add `output_item.added` and `.done`, and the members `item_id`,
`output_index` and `sequence_number`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from harness.answers.item_writer import split_into_tokens
from harness.answers.reader import EventReader, StreamError
from harness.answers.sse import encode_event
from harness.answers.writer import EventSequence, EventWriter
from harness.api.statuses import ENDED_STATUSES
from harness.core.exchange import Finding, Json
from harness.items.kind import Item

__all__ = ["StreamError", "encode_events", "fold", "read_recorded", "render_events", "split_into_tokens"]


def render_events(
    response: Json, *, items: Sequence[Item | None] = (), obfuscate: bool = True, background: bool = False
) -> EventSequence:
    """All events of a finished response, from `response.created` on, numbered from 0.

    `items` are the scripted items of its output, in order, for their exact deltas. `obfuscate` pads every text delta to a
    multiple of 16 characters; a `background` response is queued first and never padded. StreamError for an unfinished
    response.
    """
    if response["status"] not in ENDED_STATUSES:
        raise StreamError(
            0,
            f"the response is {response['status']!r}; only one that is {_join_with_or(ENDED_STATUSES)} is streamed",
        )
    writer = EventWriter(obfuscate and not background)
    writer.write_opening(response, background)
    output = response["output"]
    # Recorded: the last item of a failed response has no done event.
    open_from = len(output) - (response["status"] == "failed")
    for index, (wire, item) in enumerate(zip_longest(output, items[: len(output)])):
        writer.write_item(index, wire, item.deltas if item else {}, index >= open_from)
    writer.write_closing(response)
    return writer.events


def encode_events(events: Sequence[Json]) -> bytes:
    """The events as server-sent events, in UTF-8; nothing follows the last one."""
    return events.encode() if isinstance(events, EventSequence) else b"".join(map(encode_event, events))


def fold(events: Sequence[Json]) -> Json:
    """The response that a complete stream adds up to; its output comes from the items' own events.

    StreamError unless every event is the one that the grammar expects, deltas add up to the text of `done`, and numbers
    count from 0. Ignored, as recorded streams have them: `keepalive`, events after the final one, encrypted content that
    differs from event to event, rounded or absent logprobs, a reasoning summary that `max_output_tokens` cut.
    """
    response, drift = _read_events(events)
    for index, _, message in drift:
        raise StreamError(index, message)
    return response


def read_recorded(events: Sequence[Json]) -> tuple[Json, list[Finding]]:
    """Like `fold`, for recorded streams: the response, and findings about new or missing parts of its stream.

    A finding with its place (`events[4]`), not a StreamError, are: an item of an unknown kind (`unknown_kind`), of which
    `done` counts; a stream without numbers (`unnumbered`); a final event without the output (`output_left_out`).
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
