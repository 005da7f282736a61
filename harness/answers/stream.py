"""Streams of responses: `render_events` writes them, `fold` reads and checks them, `encode_events` encodes them.

The events of an item follow from the grammar of its kind (`harness.items.stream_grammar`). Its two visitors,
`harness.answers.writer` and `harness.answers.reader`, add `output_item.added` and `.done`, and the members `item_id`,
`output_index` and `sequence_number`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from harness.answers.item_writer import split_into_tokens
from harness.answers.reader import EventReader, StreamError
from harness.answers.sse import encode_event
from harness.answers.writer import BegunResponse, EventSequence, EventWriter
from harness.api.statuses import ENDED_STATUSES
from harness.core.exchange import Finding, Json
from harness.items.kind import Item

LISTING = "mcp_list_tools"
"""The kind of item of which a response begins with one for each MCP server. Recorded in 2026: several of them are made side
by side, and only the last has a `done` event; the others are complete in the final event."""

STEP = "workflow_action"
"""The kind of item inside which others may be told."""
ADDED, DONE = "response.output_item.added", "response.output_item.done"

__all__ = ["StreamError", "count_held", "encode_events", "fold", "read_recorded", "render_events", "split_into_tokens"]


def render_events(
    response: Json,
    *,
    items: Sequence[Item | None] = (),
    obfuscate: bool = True,
    background: bool = False,
    begun: BegunResponse | None = None,
) -> EventSequence:
    """All events of a finished response, from `response.created` on, numbered from 0.

    `items` are the scripted items of its output, in order, for their exact deltas. `obfuscate` pads every text delta to a
    multiple of 16 characters; a `background` response is queued first and never padded. `begun` is that of an
    earlier response to the same request. StreamError for an unfinished response.
    """
    if response["status"] not in ENDED_STATUSES:
        raise StreamError(
            0,
            f"the response is {response['status']!r}; only one that is {_join_with_or(ENDED_STATUSES)} is streamed",
        )
    writer = EventWriter(obfuscate and not background)
    writer.write_opening(response, background, begun or BegunResponse())
    output = response["output"]
    # Recorded: the last item of a failed response has no done event.
    open_from = len(output) - (response["status"] == "failed")
    listings = _count_listings(output[:open_from])
    if listings:
        writer.write_events(_interleave_listings(output[:listings]))
    last = listings
    while last < len(output):
        last = _write_item(writer, output, items, last, open_from)
    writer.write_closing(response)
    return writer.events


def _write_item(
    writer: EventWriter, output: Sequence[Json], items: Sequence[Item | None], index: int, open_from: int
) -> int:
    """Write the events of an item, with those of the items that it holds before its last; returns the index after them."""
    item, end = items[index] if index < len(items) else None, index + 1
    last = min(index + (item.holds if item else 0), len(output) - 1)
    left_open = last >= open_from
    writer.write_item(index, output[index], item.deltas if item else {}, left_open or end <= last)
    if end > last:
        return end
    while end <= last:
        end = _write_item(writer, output, items, end, open_from)
    if not left_open:
        writer.write_events([_end_of(index, output[index])])
    return end


def _count_listings(output: Sequence[Json]) -> int:
    """The number of listings that an output begins with; 0 if there are no two."""
    if len(output) < 2 or output[1]["type"] != LISTING:
        return 0
    return next((index for index, item in enumerate(output) if item["type"] != LISTING), len(output))


def _interleave_listings(listings: Sequence[Json]) -> Iterator[Json]:
    """The events of several listings: each phase of all of them before the next, `done` of the last one alone."""
    writer = EventWriter(obfuscate=False)
    for index, wire in enumerate(listings):
        writer.write_item(index, wire, {})
    by_item = [list(events) for _, events in groupby(writer.events, lambda event: event["output_index"])]
    for events in by_item:
        yield from events[:2]
    for events in by_item:
        yield from events[2:-1]
    yield by_item[-1][-1]


def _order_listings(events: Sequence[Json]) -> Sequence[Json]:
    """The events of several listings as if each were told alone, with the `done` events that are left out."""
    places = [event.get("output_index") for event in events if _adds(event, LISTING)]
    if len(places) < 2 or not all(isinstance(event, dict) for event in events):
        return events
    told = [index for index, event in enumerate(events) if event.get("output_index") in places]
    output = _final_output(events)
    first, end = told[0], told[0] + len(told)
    if places != list(range(len(places))) or told != list(range(first, end)) or len(output) < len(places):
        return events
    ordered: list[Json] = []
    for place, item in enumerate(output[: len(places)]):
        ordered += _tell_alone([event for event in events[first:end] if event["output_index"] == place], item)
    return _renumber([*events[:first], *ordered, *events[end:]], events)


def _adds(event: Any, type: str) -> bool:
    item = event.get("item") if isinstance(event, dict) else None
    return isinstance(item, dict) and item.get("type") == type and event.get("type") == ADDED


def _final_output(events: Sequence[Json]) -> list[Json]:
    response = events[-1].get("response") if events else None
    output = response.get("output") if isinstance(response, dict) else None
    return output if isinstance(output, list) else []


def _tell_alone(events: list[Json], item: Json) -> list[Json]:
    return events if events[-1].get("type") == DONE else [*events, _end_of(events[0]["output_index"], item)]


def _end_of(index: int, item: Json) -> Json:
    return {"type": DONE, "item": item, "output_index": index}


def _order_held(events: Sequence[Json]) -> Sequence[Json]:
    """The events as if no item were told inside another: a step of a workflow is done right after it was added.

    Recorded 2026-02: it is done after the message that it sends. Of a failed response it need not be done (assumed, as for
    the item inside it).
    """
    if not any(_adds(event, STEP) for event in events) or not all(isinstance(event, dict) for event in events):
        return events
    steps = [event["output_index"] for event in events if _adds(event, STEP) and _has_place(event)]
    ends = {event["output_index"]: event for event in events if event.get("type") == DONE and _has_place(event)}
    if events[-1].get("type") == "response.failed":
        ends = {**{place: _end_of(place, item) for place, item in enumerate(_final_output(events))}, **ends}
    ordered: list[Json] = []
    for event in events:
        place = event["output_index"] if _has_place(event) else None
        if place not in steps or event is not ends.get(place):
            ordered += [event, ends[place]] if _adds(event, STEP) and place in ends else [event]
    return _renumber(ordered, events)


def _has_place(event: Json) -> bool:
    return isinstance(event.get("output_index"), int)


def count_held(events: Sequence[Json]) -> Mapping[int, int]:
    """How many items are told inside each step of a workflow, by the `output_index` of the step."""
    places: dict[int, int] = {}
    open_steps: list[int] = []
    for event in events:
        index = event.get("output_index")
        if event.get("type") == ADDED and isinstance(index, int):
            places |= {step: places.get(step, 0) + 1 for step in open_steps}
            open_steps += [index] if _adds(event, STEP) else []
        elif event.get("type") == DONE and index in open_steps:
            open_steps.remove(index)
    return places


def _renumber(ordered: list[Json], events: Sequence[Json]) -> Sequence[Json]:
    """The ordered events with the numbers of their places, if the events as they came had theirs."""
    first = events[0].get("sequence_number")
    if not isinstance(first, int) or any(event.get("sequence_number") != n for n, event in enumerate(events, first)):
        return ordered
    return [{**event, "sequence_number": number} for number, event in enumerate(ordered, first)]


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
    reader = EventReader(_order_held(_order_listings(events)))
    started = reader.read_opening()
    output: list[Json] = []
    while reader.next_type == ADDED:
        output.append(reader.read_item(len(output)))
    return reader.read_closing(started, output), reader.drift


def _join_with_or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
