"""Cuts answers: finds the events that are still sent, and folds them into a partial response."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from harness.core.delivery import Delivery, Gate, Pace, Pause
from harness.core.exchange import Answer, Json
from harness.ending import TurnLine
from harness.faults import Cut, find_cut, find_pauses
from harness.faults.alterations import alter_answer
from harness.faults.transmission import Chunks, Delay, Framing, find_pace, schedule_answer, with_transport

PARTS_BY_INDEX = {"content_index": "content", "summary_index": "summary"}
"""The member of an item that holds its parts, by the event member that is their index."""


def apply_faults(answer: Answer, turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Answer:
    """Apply the faults of a turn to its answer; `events` and `body` of the result are what is still sent."""
    answer = alter_answer(answer, turn)
    return _break_off(answer, turn, gate) if any(isinstance(line, _OF_DELIVERY) for line in turn) else answer


_OF_DELIVERY = (Chunks, Cut, Delay, Framing, Pace, Pause)


def _break_off(answer: Answer, turn: Sequence[TurnLine], gate: Callable[[str], Gate]) -> Answer:
    pauses, cut, pace = find_pauses(turn, gate), find_cut(turn), find_pace(turn)
    times = schedule_answer(answer, pace) if pace else ()
    delivery = with_transport(Delivery(pauses, times=times), turn)
    if cut is None:
        return answer._replace(delivery=delivery)
    delivery, after = delivery._replace(disconnects=True, resets=cut.reset), cut.after
    if answer.events is None:
        body = orjson.dumps(answer.body)
        # Half of a JSON body is as good as any other part: none of them can be parsed.
        return answer._replace(body=body[: len(body) // 2 if after else 0], delivery=delivery)
    events = list(answer.events)
    # At least the last event is missing: a cut after all of them would be no cut.
    complete = min(int(after), len(events) - 1)
    share = after - complete if complete == int(after) else 0
    sent = delivery._replace(partial_event=events[complete] if share else None, partial_share=share)
    return answer._replace(body=fold_partial(events[:complete]), events=events[:complete], delivery=sent)


def fold_partial(events: Sequence[Json]) -> Json | None:
    """Fold the first events of a stream into the partial response or run; None if they contain no such object."""
    partial: Json | None = None
    items: dict[int, Json] = {}
    for event in events:
        if "event" in event:
            partial = event["data"] if event["data"].get("object") == "thread.run" else partial
        elif "response" in event:
            partial = event["response"]
        elif "item" in event:
            items[event["output_index"]] = event["item"]
        elif event.get("output_index") in items:
            items[event["output_index"]] = _apply_event(items[event["output_index"]], event)
    return {**partial, "output": [items[index] for index in sorted(items)]} if partial and items else partial


def _apply_event(item: Json, event: Json) -> Json:
    """Apply an event's part, text or annotation to an item; other events leave the item unchanged."""
    place = next((name for name in PARTS_BY_INDEX if name in event), None)
    if place is None:
        return _append_delta(item, event)
    parts = list(item.get(PARTS_BY_INDEX[place]) or ())
    if "part" in event:
        parts[event[place] :] = [event["part"]]
    elif event[place] < len(parts):
        parts[event[place]] = _append_delta(parts[event[place]], event)
    return {**item, PARTS_BY_INDEX[place]: parts}


def _append_delta(item: Json, event: Json) -> Json:
    """Append a delta or an annotation to an item or part; `response.output_text.delta`, for example, extends `text`."""
    _, stem, kind = event["type"].rsplit(".", 2)
    if "annotation" in event:
        return {**item, "annotations": [*item["annotations"], event["annotation"]]}
    known: Any = item.get(name := stem.rpartition("_")[2])
    return {**item, name: known + event["delta"]} if kind == "delta" and isinstance(known, str) else item
