"""Reads recorded streams: with parts in another order, with new or missing parts."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.answers.reader import EventReader
from harness.answers.writer import MCP_LIST_TOOLS, end_item
from harness.core.exchange import Finding, Json
from harness.core.json_values import as_object

STEP = "workflow_action"
"""The kind of item that may contain the events of others."""
ADDED, DONE = "response.output_item.added", "response.output_item.done"


def _order_listings(events: Sequence[Json]) -> Sequence[Json]:
    """Reorder the events of several listings as if each were sent alone, and add the missing `done` events."""
    places = [event.get("output_index") for event in events if _adds(event, MCP_LIST_TOOLS)]
    if len(places) < 2 or not all(isinstance(event, dict) for event in events):
        return events
    indexes = [index for index, event in enumerate(events) if event.get("output_index") in places]
    output = _final_output(events)
    first, end = indexes[0], indexes[0] + len(indexes)
    # Recorded only for listings at the beginning, next to each other; any other order is an error.
    if places != list(range(len(places))) or indexes != list(range(first, end)) or len(output) < len(places):
        return events
    ordered: list[Json] = []
    for place, item in enumerate(output[: len(places)]):
        ordered += _with_done_event([event for event in events[first:end] if event["output_index"] == place], item)
    return _renumber([*events[:first], *ordered, *events[end:]], events)


def _adds(event: Any, type: str) -> bool:
    item = as_object(event).get("item")
    return isinstance(item, dict) and item.get("type") == type and event.get("type") == ADDED


def _final_output(events: Sequence[Json]) -> list[Json]:
    response = events[-1].get("response") if events else None
    output = as_object(response).get("output")
    return output if isinstance(output, list) else []


def _with_done_event(events: list[Json], item: Json) -> list[Json]:
    return events if events[-1].get("type") == DONE else [*events, end_item(events[0]["output_index"], item)]


def _order_held(events: Sequence[Json]) -> Sequence[Json]:
    """Reorder the events as if no item were inside another: a workflow step is done right after it was added.

    Recorded 2026-02: it is done after the message that it sends. In a failed response it need not be done (assumed, as
    for the item inside it).
    """
    # Streams rarely have workflow steps; anything that is no event is reported elsewhere.
    if not any(_adds(event, STEP) for event in events) or not all(isinstance(event, dict) for event in events):
        return events
    steps = [event["output_index"] for event in events if _adds(event, STEP) and _has_place(event)]
    ends = {event["output_index"]: event for event in events if event.get("type") == DONE and _has_place(event)}
    if events[-1].get("type") == "response.failed":
        ends = {**{place: end_item(place, item) for place, item in enumerate(_final_output(events))}, **ends}
    ordered: list[Json] = []
    for event in events:
        place = event["output_index"] if _has_place(event) else None
        if place not in steps or event is not ends.get(place):
            ordered += [event, ends[place]] if _adds(event, STEP) and place in ends else [event]
    return _renumber(ordered, events)


def _has_place(event: Json) -> bool:
    return isinstance(event.get("output_index"), int)


def count_held(events: Sequence[Json]) -> Mapping[int, int]:
    """Count the items inside each workflow step, by the `output_index` of the step."""
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
    """Renumber the reordered events, if the original ones were numbered consecutively."""
    first = events[0].get("sequence_number")
    if not isinstance(first, int) or any(event.get("sequence_number") != n for n, event in enumerate(events, first)):
        return ordered
    return [{**event, "sequence_number": number} for number, event in enumerate(ordered, first)]


def read_recorded(events: Sequence[Json]) -> tuple[Json, list[Finding]]:
    """Fold a complete stream into its response, whose output comes from the items' own events; also return findings.

    StreamError unless every event is the one that the grammar expects, deltas add up to the text of `done`, and numbers
    count from 0. Ignored, as recorded streams have them: `keepalive`, events after the final one, encrypted content
    that differs from event to event, rounded or absent logprobs, a reasoning summary that `max_output_tokens` cut.

    The findings have their place (`events[4]`), and are about new or missing parts: an item of an unknown kind
    (`unknown_kind`), of which `done` counts; a stream without numbers (`unnumbered`); a final event without the output
    (`output_left_out`).
    """
    reader = EventReader(_order_held(_order_listings(events)))
    started = reader.read_opening()
    output: list[Json] = []
    while reader.next_type == ADDED:
        output.append(reader.read_item(len(output)))
    response = reader.read_closing(started, output)
    return response, [Finding(f"events[{index}]", message, rule) for index, rule, message in reader.drift]
