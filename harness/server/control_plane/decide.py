"""Decides an approval in the client's place, by sending the request that a client would send next."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Request

from harness.core.errors import HarnessError
from harness.core.exchange import Exchange, Json, ReceivedRequest
from harness.core.json_values import as_object, objects_in
from harness.core.text import show
from harness.server.control_plane.requests import api_of, mock_of, read_members
from harness.world.mock import Mock
from harness.world.scripting.validation import BOOLEAN, TEXT

USER_AGENT = "responses-harness"
"""The user agent of such requests, so that the journal shows who sent them."""
_NOT_SENT_AGAIN = frozenset({"input", "stream", "stream_options", "background"})


async def decide(request: Request) -> Json:
    """Approve or deny a call in the client's place: `{"approval": "mcpr_1", "approve": true}`.

    A denial, `false`, may have a `reason`. Sends the World what the client would send next, and its script answers.
    Returns the `exchange` and its `status`.
    """
    api, mock = api_of(request), mock_of(request)
    sent = await read_members(request, "approval", "approve", "reason")
    decision: Json = {
        "type": "mcp_approval_response",
        "approval_request_id": TEXT.check("approval", sent.get("approval")),
        "approve": BOOLEAN.check("approve", sent.get("approve")),
    }
    if "reason" in sent:
        decision["reason"] = TEXT.check("reason", sent["reason"])
    if not api.can_hold:
        raise HarnessError(
            "decide: servers that share a store cannot send requests. Start the server without `--store`."
        )
    asking = _find_asking(mock, decision["approval_request_id"])
    headers = {
        **{name: value for name, value in asking.request.headers.items() if name != "content-length"},
        "user-agent": USER_AGENT,
    }
    body = orjson.dumps(_next_body(asking, decision))
    path = asking.request.root + asking.request.path
    answer = api.handle(ReceivedRequest("POST", path, headers, dict(asking.request.query), body))
    return {"exchange": mock.world.exchange_count, "status": answer.status}


def _find_asking(mock: Mock, id: str) -> Exchange:
    """Find the exchange in which the model asked for a pending approval; HarnessError if not found."""
    known = {approval.id: approval for approval in mock.approvals}
    if id not in known:
        waiting = ", ".join(approval.id for approval in known.values() if approval.approve is None) or "none"
        raise HarnessError(f"decide: no approval {show(id)} was requested. Pending: {waiting}.")
    if known[id].answers:
        raise HarnessError(f"decide: {id} was answered in request {known[id].answers[0]}.")
    asked = next((exchange for exchange in mock.exchanges if exchange.number == known[id].asked), None)
    if asked is None or asked.request.method != "POST":
        raise HarnessError(
            f"decide: the request in which {id} was requested is not in the journal, or came over a WebSocket."
        )
    return asked


def _next_body(asking: Exchange, decision: Json) -> Json:
    """Build the body of the next request: with the id of a stored response, or else with the whole transcript."""
    before, answered = as_object(asking.request.body), as_object(asking.answer.body)
    body: dict[str, Any] = {name: value for name, value in before.items() if name not in _NOT_SENT_AGAIN}
    if before.get("conversation") is not None:
        return body | {"input": [decision]}
    # A response that was not stored cannot be continued by its id: its transcript is sent.
    if before.get("store") is not False:
        return body | {"input": [decision], "previous_response_id": answered.get("id")}
    given = before.get("input")
    asked = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    output = [
        item for item in objects_in(answered.get("output")) if item.get("type") != "reasoning" or _is_replayable(item)
    ]
    return body | {"input": [*asked, *output, decision]}


def _is_replayable(reasoning: Json) -> bool:
    """Return whether reasoning that was not stored can be sent back: only encrypted."""
    return bool(reasoning.get("encrypted_content"))
