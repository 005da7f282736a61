"""Nothing that a recording holds makes the judge fail: requests and answers with members missing, null or of other types."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cassettes.format.interaction import CLIENT, SERVER, Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.ending import incomplete
from harness.items import function_call, mcp_approval_request, message, reasoning, web_search_call
from harness.verify import output
from harness.verify.judge_files import judge_exchange
from harness.verify.judging.verdict import VerdictKind
from harness.verify.judging.websockets import to_http_interactions
from harness.verify.read_files import read_recording
from harness.world.world import World
from tests.contract.evidence.samples.mutate import mutations
from tests.support.recordings import HI, exchange, judged, recorded, write_jsonl

CALL = function_call("f", {}, call_id="call_1")
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
CALLS = {"tool_calls": [{"id": "call_1", "type": "function"}]}
RUN = {
    "id": "run_1",
    "object": "thread.run",
    "thread_id": "thread_1",
    "status": "requires_action",
    "required_action": {"type": "submit_tool_outputs", "submit_tool_outputs": CALLS},
}


def assistants(number: int, method: str, path: str, request: Any, answer: Any) -> dict[str, Any]:
    return exchange(number, request, 200, answer, method=method, url_path=f"/v1/threads{path}")


CONVERSATION = [
    *recorded(
        {**HI, "tools": [{"type": "function", "name": "f", "parameters": {}}], "reasoning": {"effort": "low"}},
        {**HI, "input": [OUTPUT], "previous_response_id": "{0}"},
        {**HI, "stream": True, "text": {"format": {"type": "text"}}},
        {**HI, "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "stream": True},
        turns=[[reasoning("Hm."), CALL], message("1"), web_search_call("rain"), incomplete()],
    ),
    exchange(5, None, 200, {"id": "conv_1", "object": "conversation"}, url_path="/v1/conversations"),
    assistants(6, "POST", "", {}, {"id": "thread_1", "object": "thread"}),
    assistants(7, "POST", "/thread_1/runs", {"assistant_id": "asst_1"}, RUN),
    assistants(8, "POST", "/thread_1/runs/run_1/submit_tool_outputs", {"tool_outputs": []}, RUN),
    assistants(9, "GET", "/thread_1/messages", None, {"object": "list", "data": []}),
]


def failures(exchanges: list[Recorded]) -> list[str]:
    """Return what the judge reports as failures of its own."""
    world = World("recording")
    verdicts = (verdict for exchange in exchanges for verdict in judge_exchange(exchange, world, True))
    return [
        verdict.entry["message"] for verdict in verdicts if verdict.kind is VerdictKind.UNREADABLE and verdict.entry
    ]


def failures_of(folder: Path, *exchanges: dict[str, Any]) -> list[str]:
    return failures([*read_recording(write_jsonl(folder, exchanges))])


@given(data=st.data())
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_exchange_is_judged(tmp_path: Path, data: st.DataObject) -> None:
    exchanges = [*read_recording(write_jsonl(tmp_path, CONVERSATION))]
    place = data.draw(st.integers(0, len(exchanges) - 1))
    for member in data.draw(st.sampled_from([("request",), ("answer",), ("events",), ("request", "answer")])):
        if value := getattr(exchanges[place], member):
            exchanges[place] = exchanges[place]._replace(**{member: data.draw(mutations([value])).body})
    assert failures(exchanges) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"request": {**HI, "input": [{"type": "item_reference"}, {"role": "user", "content": "hi"}]}},
        {"provider": "azure", "url_path": "/openai/responses", "request": {**HI, "input": [{"role": "assistant"}]}},
    ],
    ids=["a reference without an id", "malformed, and azure takes no such path"],
)
def test_a_request_that_is_not_right_is_no_failure(tmp_path: Path, changes: dict[str, Any]) -> None:
    (made,) = recorded(HI)
    assert failures_of(tmp_path, {**made, **changes}) == []


def test_an_approval_of_what_the_recording_does_not_hold_is_no_failure(tmp_path: Path) -> None:
    server = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example"}
    asked = mcp_approval_request("prod", "deploy", {})
    requested, answered = recorded({**HI, "tools": [server]}, HI, turns=[asked, message("Done.")])
    id, request = requested["response"]["id"], requested["response"]["output"][0]["id"]
    approval = {"type": "mcp_approval_response", "approval_request_id": request, "approve": True}
    answered["request"] = {**requested["request"], "previous_response_id": id, "input": [approval]}
    answered["response"]["previous_response_id"] = id
    assert failures_of(tmp_path, answered) == []


@pytest.mark.parametrize("last", ["3", "9" * 5000, "x"])
def test_a_resumed_stream_whose_beginning_is_misnumbered_is_judged(tmp_path: Path, last: str) -> None:
    (made,) = recorded({**HI, "stream": True, "background": True})
    (began,) = read_recording(write_jsonl(tmp_path, [made]))
    broken = began._replace(events=[{**event, "sequence_number": "x"} for event in began.events or ()])
    id = made["events"][-1]["data"]["response"]["id"]
    resumed = began._replace(method="GET", path=f"/v1/responses/{id}", query={"stream": "true", "starting_after": last})
    assert failures([broken, resumed]) == []


def test_a_websocket_event_whose_type_is_no_text_is_no_failure() -> None:
    frames = ((0.0, CLIENT, '{"type": "response.create"}'), (0.1, SERVER, '{"type": ["error"]}'))
    (one,) = to_http_interactions(Interaction("GET", "wss://api.openai.com/v1/responses", frames=frames))
    assert failures([parse_recorded(one, "recording", 1)]) == []


def test_an_error_without_a_message_is_printed(tmp_path: Path) -> None:
    tally, _ = judged(tmp_path, write_jsonl(tmp_path, [exchange(1, {"colour": 1}, 400, {"error": {"code": "x"}})]))
    assert "  recorded  400 no message (param None, code x)" in output.summary_lines(tally)


@pytest.mark.parametrize("status", [{"status": [{}]}, {"status": None}, {}])
def test_a_response_without_a_status_can_be_cancelled_and_deleted(tmp_path: Path, status: dict[str, Any]) -> None:
    (made,) = recorded(HI)
    del made["response"]["status"]
    made["response"] |= status
    path = f"/v1/responses/{made['response']['id']}"
    more = [
        exchange(2, None, 400, {"error": {"message": "No."}}, url_path=f"{path}/cancel"),
        exchange(3, None, 200, {"deleted": True}, url_path=path, method="DELETE"),
    ]
    assert failures_of(tmp_path, made, *more) == []
