"""`response.inject` on a connection without a network: whatever a client says, it is answered."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.api.responses import MULTI_AGENT_BETA
from harness.core.exchange import Json, ReceivedRequest
from harness.ending import completed
from harness.items import function_call, mcp_approval_request, message
from harness.server.mock_api import MockApi
from harness.server.websocket.session import SocketSession
from harness.unscripted.default_model import small_talk
from tests.support.tools import functions

KEY = "sk-unit"
HEADERS = {"authorization": f"Bearer {KEY}", "openai-beta": MULTI_AGENT_BETA}
TEXTS = st.text(max_size=8)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=5
)
APPROVED = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org"}


def create(api: MockApi, **members: Any) -> tuple[SocketSession, Sequence[Json]]:
    """Return a connection, and the events of a response with agents."""
    session = api.open_session(ReceivedRequest("GET", "/v1/responses", HEADERS))
    assert isinstance(session, SocketSession)
    body = {"model": "gpt-5.6-sol", "input": "hi", "multi_agent": {"enabled": True}, **members}
    return session, session.receive(orjson.dumps({"type": "response.create", **body}))


def opened() -> tuple[MockApi, SocketSession, str]:
    """Return a mock, a connection, and the id of the response that waits on it for an output and an approval."""
    api = MockApi()
    asked = mcp_approval_request("prod", "deploy", {})
    turn = [function_call("f", "{}", call_id="call_1"), asked, completed(awaits_outputs=True, off_schema=True)]
    api.open(KEY).script(turn, message("ok"))
    session, events = create(api, tools=[*functions("f"), APPROVED])
    return api, session, events[0]["response"]["id"]


def injected(session: SocketSession, response: Any, items: Any, **members: Any) -> Sequence[Json]:
    body = {"type": "response.inject", "response_id": response, "input": items, **members}
    return session.receive(orjson.dumps(body))


def inject(session: SocketSession, response: Any, items: Any, **members: Any) -> list[str]:
    return [event["type"] for event in injected(session, response, items, **members)]


def test_it_waits_for_approvals_too() -> None:
    api, session, id = opened()
    (stored,) = [item for item in api.worlds[KEY].store.responses[id].response["output"] if "server_label" in item]
    assert inject(session, id, [{"type": "function_call_output", "call_id": "call_1", "output": "1"}]) == [
        "response.inject.created"
    ]
    assert api.worlds[KEY].exchanges[1].request.body["previous_response_id"] == id
    approval = {"type": "mcp_approval_response", "approval_request_id": stored["id"], "approve": False}
    events = injected(session, id, [approval])
    start = events[0]["sequence_number"]
    assert [event["sequence_number"] for event in events] == [*range(start, start + len(events))]
    usage = events[-1]["response"]["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]
    assert events[-1]["type"] == "response.completed"


def test_outputs_for_a_response_that_there_is_not_come_back_in_an_event_of_their_own() -> None:
    _, session, _ = opened()
    outputs = [{"type": "function_call_output", "call_id": "call_1", "output": "1"}]
    assert inject(session, "resp_9", outputs) == ["response.inject.failed"]


def test_an_event_with_an_unknown_call_adds_none_of_its_outputs() -> None:
    _, session, id = opened()
    output = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
    (failed,) = injected(session, id, [output, {**output, "call_id": "call_9"}])
    said = f"Tool call 'call_9' is not pending on response '{id}'."
    assert failed["error"] == {"code": "invalid_input", "message": said}
    assert inject(session, id, [output]) == ["response.inject.created"]
    (failed,) = injected(session, id, [output])
    assert failed["error"]["message"] == "Tool call 'call_1' already has an output."


@pytest.mark.slow
@given(JSON)
@settings(max_examples=100, deadline=None)
def test_no_injection_makes_a_connection_raise(said: Any) -> None:
    api, session, id = opened()
    inject(session, said, [])
    inject(session, id, said)
    inject(session, id, [said])
    inject(session, id, [{"type": "function_call_output", "call_id": said, "output": said}])
    inject(session, id, [{"type": "function_call_output", "call_id": "call_1", "output": said}], more=said)
    assert api.worlds[KEY].problems == []


def test_without_a_script_it_waits_for_what_the_client_executes() -> None:
    session, events = create(MockApi(fallback=small_talk), tools=functions("f"), tool_choice="required")
    assert events[-1]["type"] == "response.output_item.done"
    id, call = events[0]["response"]["id"], events[-1]["item"]["call_id"]
    told = inject(session, id, [{"type": "function_call_output", "call_id": call, "output": "1"}])
    assert (told[0], told[-1]) == ("response.inject.created", "response.completed")
