"""Makes the events about outputs injected into an open response: that they are taken, and how the response goes on.

A response with agents may wait for outputs of the client over its connection (`completed(awaits_outputs=True)`); when all
are there it goes on, and ends as one response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.core.exchange import Json
from harness.server.websocket.steering_events import owed_outputs
from harness.world.websocket_state import LaneResponse, OpenResponse


def created_event(opened: OpenResponse) -> Json:
    """Say that the input is part of the response now."""
    event = {
        "type": "response.inject.created",
        "response_id": opened.response["id"],
        "sequence_number": opened.held.event_count,
    }
    opened.held.event_count += 1
    return {**event, "stream_id": opened.held.lane} if opened.held.lane else event


def failed_event(held: LaneResponse | None, body: Json, error: Json) -> Json:
    """Say that the input is not part of the response, and return it."""
    event = {
        "type": "response.inject.failed",
        "response_id": body["response_id"],
        "input": body["input"],
        "error": {name: error[name] for name in ("code", "message")},
        "sequence_number": held.event_count if held else 0,
    }
    if held is None:
        return event
    held.event_count += 1
    return {**event, "stream_id": held.lane} if held.lane else event


def unanswered(opened: OpenResponse) -> list[Json]:
    """List what the client still owes to a response, as stubs of outputs."""
    given = [_answered_id(item) for item in opened.outputs]
    owed = owed_outputs(opened.response["output"][opened.settled :])
    return [stub for stub in owed if _answered_id(stub) not in given]


def _answered_id(output: Json) -> Any:
    return output.get("call_id") or output.get("approval_request_id")


def merge_responses(first: Json, second: Json) -> Json:
    """Merge two responses into one: the first, with what the second added."""
    own = {name: first[name] for name in ("id", "created_at", "previous_response_id")}
    output = [*first["output"], *second["output"]]
    return {**second, **own, "output": output, "usage": _add_usage(first["usage"], second["usage"])}


def _add_usage(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return {name: _add_usage(first.get(name), value) for name, value in second.items()}
    return first + second if isinstance(first, int) and isinstance(second, int) else second


def continue_events(opened: OpenResponse, events: Sequence[Json], merged: Json) -> Iterator[Json]:
    """Yield the events of a second response as a continuation of the open one; the last has the merged response."""
    place = len(opened.response["output"])
    for event in list(events)[2:]:  # the response is created and in progress already
        own: Json = {"sequence_number": opened.held.event_count}
        if "output_index" in event:
            own["output_index"] = event["output_index"] + place
        if "response" in event:
            own["response"] = merged
        opened.held.event_count += 1
        yield {**event, **own, **({"stream_id": opened.held.lane} if opened.held.lane else {})}
