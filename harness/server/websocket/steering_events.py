"""The events about a steer: accepted, pending until the client sends outputs, or failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.core.exchange import Json
from harness.items.kind import CLIENT_CALL_NAMES, output_of_call
from harness.world.websocket_state import LaneResponse


def accepted_event(held: LaneResponse, id: str) -> Json:
    """Say that the input is queued."""
    return _event("accepted", held, steer={"id": id, "previous_response_id": held.response["id"]})


def pending_event(held: LaneResponse, id: str, owed: Sequence[Json]) -> Json:
    """Say that the input waits for what the client owes to the response."""
    steer = {"id": id, "previous_response_id": held.response["id"]}
    return _event("pending", held, reason="waiting_for_required_input", required_input=list(owed), steer=steer)


def failed_event(held: LaneResponse | None, body: Json, error: Json, id: str | None = None) -> Json:
    """Say that the input of this steer is rejected, and return the input; `id` is that of a steer accepted before."""
    steer = {name: body[name] for name in ("input", "previous_response_id") if name in body}
    members = {name: error[name] for name in ("type", "code", "message")}
    return _event("failed", held, error=members, steer={"id": id, **steer} if id else steer)


def _event(kind: str, held: LaneResponse | None, **members: Any) -> Json:
    event = {"type": f"response.steer.{kind}", **members, "sequence_number": held.event_count if held else 0}
    if held is None:
        return event
    held.event_count += 1
    return {**event, "stream_id": held.lane} if held.lane else event


def owed_outputs(output: Sequence[Json]) -> list[Json]:
    """List what the client owes for an output: stubs of the outputs of its calls and of the approvals asked of it."""
    return [stub for item in output if (stub := _output_stub(item))]


def _output_stub(item: Json) -> Json | None:
    kind = item["type"]
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": item["id"]}
    if kind not in CLIENT_CALL_NAMES or kind == "local_shell_call" or item.get("execution") == "server":
        return None
    stub = {"type": output_of_call(kind), "call_id": item["call_id"]}
    if kind == "function_call":
        return {**stub, "name": item["name"]}
    return {**stub, "execution": "client"} if kind == "tool_search_call" else stub
