"""The events of a WebSocket to `/responses` that are not those of a response: of steering, of injected outputs, of errors.

Source: OpenAI's guides to WebSocket mode and to steering, read in 2026-09.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from harness.api.responses import INJECT, INJECT_EVENT
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, pick
from harness.items.kind import CLIENT_CALL_NAMES, output_of_call
from harness.world.websocket_state import LaneResponse, OpenResponse

ENVELOPE_MEMBERS = ("type", "stream_id", "generate", "background")
"""Members of a `response.create` that are not part of the request it carries."""


def accepted_event(held: LaneResponse, id: str) -> Json:
    """Build the event that says the input is queued."""
    return _event("steer.accepted", held, steer={"id": id, "previous_response_id": held.response["id"]})


def pending_event(held: LaneResponse, id: str, owed: Sequence[Json]) -> Json:
    """Build the event that says the input waits for outputs that the client owes to the response."""
    steer = {"id": id, "previous_response_id": held.response["id"]}
    return _event("steer.pending", held, reason="waiting_for_required_input", required_input=list(owed), steer=steer)


def failed_event(held: LaneResponse | None, body: Json, error: Json, id: str | None = None) -> Json:
    """Build the event that rejects the input of a steer and returns it; `id` is set for a steer accepted before."""
    steer = pick(body, "input", "previous_response_id")
    members = {name: error[name] for name in ("type", "code", "message")}
    return _event("steer.failed", held, error=members, steer={"id": id, **steer} if id else steer)


def _event(kind: str, held: LaneResponse | None, **members: Any) -> Json:
    event = {"type": f"response.{kind}", **members, "sequence_number": held.event_count if held else 0}
    if held is None:
        return event
    held.event_count += 1
    return {**event, "stream_id": held.lane} if held.lane else event


def owed_outputs(output: Sequence[Json]) -> list[Json]:
    """List what the client owes for an output: stubs of the outputs of its calls and of its approvals."""
    return [stub for item in output if (stub := _output_stub(item))]


def _output_stub(item: Json) -> Json | None:
    kind = item["type"]
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": item["id"]}
    # The API executes these itself, or its list of owed outputs leaves them out.
    if kind not in CLIENT_CALL_NAMES or kind == "local_shell_call" or item.get("execution") == "server":
        return None
    stub = {"type": output_of_call(kind), "call_id": item["call_id"]}
    if kind == "function_call":
        return {**stub, "name": item["name"]}
    return {**stub, "execution": "client"} if kind == "tool_search_call" else stub


def injected_event(opened: OpenResponse) -> Json:
    """Build the event that says injected outputs are now part of the response."""
    return _event("inject.created", opened.lane_response, response_id=opened.response["id"])


def not_injected_event(held: LaneResponse | None, body: Json, error: Json) -> Json:
    """Build the event that rejects injected outputs and returns them."""
    shown = {name: error[name] for name in ("code", "message")}
    return _event("inject.failed", held, response_id=body["response_id"], input=body["input"], error=shown)


def unanswered(opened: OpenResponse) -> list[Json]:
    """List what the client still owes to a response, as stubs of outputs."""
    given = [_answered_id(item) for item in opened.outputs]
    owed = owed_outputs(opened.response["output"][opened.settled :])
    return [stub for stub in owed if _answered_id(stub) not in given]


def _answered_id(output: Json) -> Any:
    return output.get("call_id") or output.get("approval_request_id")


def merge_responses(first: Json, second: Json) -> Json:
    """Merge two responses into one: the first, continued by the second."""
    own = {name: first[name] for name in ("id", "created_at", "previous_response_id")}
    output = [*first["output"], *second["output"]]
    return {**second, **own, "output": output, "usage": _add_usage(first["usage"], second["usage"])}


def _add_usage(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return {name: _add_usage(first.get(name), value) for name, value in second.items()}
    # Both parts of a steered response were paid for.
    return first + second if isinstance(first, int) and isinstance(second, int) else second


def continue_events(opened: OpenResponse, events: Sequence[Json], merged: Json) -> Iterator[Json]:
    """Yield the events of a second response as a continuation of the open one; the last carries the merged response."""
    place = len(opened.response["output"])
    for event in list(events)[2:]:  # the open response has been created and is in progress already
        own: Json = {"sequence_number": opened.lane_response.event_count}
        if "output_index" in event:
            own["output_index"] = event["output_index"] + place
        if "response" in event:
            own["response"] = merged
        opened.lane_response.event_count += 1
        yield {**event, **own, **({"stream_id": opened.lane_response.lane} if opened.lane_response.lane else {})}


def as_noted(sent: Request, answer: Answer) -> Request:
    """Return an event as the journal records it: accepted outputs continue their response, rejected ones do not."""
    if not isinstance(sent.body, dict) or sent.body.get("type") != INJECT_EVENT:
        return sent
    if answer.events is None or answer.status != 200:
        return sent._replace(operation=INJECT)
    # So that losses and lanes read it as what it is: the continuation of that response.
    return sent._replace(body={**sent.body, "previous_response_id": sent.body["response_id"]})


def is_invalid_stream(stream: Any) -> bool:
    """Return whether `stream` has a type that the schema refuses; any valid value is ignored here."""
    return not (stream is None or isinstance(stream, bool))


def error_event(answer: Answer, lane: str | None) -> Json:
    """Build the event with the error of an answer."""
    error = as_object(answer.body).get("error")
    if not isinstance(error, dict):  # a test scripted a body of another form
        error = {"type": "invalid_request_error", "message": orjson.dumps(answer.body).decode()}
    members = {name: error.get(name) for name in ("type", "code", "message", "param")}
    return {
        "type": "error",
        "status": answer.status,
        **({"stream_id": lane} if lane else {}),
        "error": {**members, "headers": dict(answer.headers)} if answer.headers else members,
    }
