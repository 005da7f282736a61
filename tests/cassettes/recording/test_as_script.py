"""A recording as a script: its answers are turns, under the full contract."""

import pytest

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.as_script import recorded_response, turns_from_recording
from harness.core.errors import ScriptError
from harness.ending import RECORDED_ENDING, empty, incomplete
from harness.items import message, reasoning
from harness.verify.judging.websockets import to_http_interactions
from tests.support.in_process import Client
from tests.support.recordings import HI, JSON, URI, compact, over_http, response, socket, sse, streamed

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "f",
    "arguments": "{}",
}


def test_each_response_is_a_turn():
    interactions = [over_http({}, response(MESSAGE)), over_http({}, response(CALL, MESSAGE))]
    first, second = turns_from_recording(interactions, "it")
    assert [line.type for line in first[:-1]] == ["message"]
    assert [line.type for line in second[:-1]] == ["function_call", "message"]
    assert first[-1] is second[-1] is RECORDED_ENDING


def test_the_mock_says_it_again_and_calls_tools_that_no_request_declares():
    client = Client()
    client.mock.script(*turns_from_recording([over_http({}, response(MESSAGE)), over_http({}, response(CALL))], "it"))
    (said,), (called,) = (client.ask("hi", tool_choice="none").body["output"] for _ in range(2))
    assert (said["content"][0]["text"], said["id"] != "msg_1", called["type"]) == ("hello", True, "function_call")


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in the items' events only"])
def test_streams_become_turns(whole):
    events = sse(
        {"type": "response.output_item.done", "item": MESSAGE},
        {"type": "response.completed", "response": response(*([MESSAGE] if whole else []))},
    )
    ((line, _),) = turns_from_recording([streamed(events)], "it")
    assert line == message("hello")


def test_endings_become_turns():
    cut = response(MESSAGE, status="incomplete", incomplete_details={"reason": "content_filter"})
    ((_, ended),) = turns_from_recording([over_http({}, cut)], "it")
    assert ended == incomplete("content_filter")


def test_an_answer_without_output_is_a_turn():
    assert turns_from_recording([over_http(HI, response())], "it") == [[empty()]]
    ended = sse({"type": "response.completed", "response": response()})
    assert turns_from_recording([streamed(ended)], "it") == [[empty()]]
    with pytest.raises(ScriptError, match="it has no model response"):
        turns_from_recording([over_http(HI, response(status="queued"))], "it")


def test_the_warm_up_of_a_socket_is_none():
    warm_up = {"type": "response.create", "model": "gpt-4.1", "generate": False}
    ended = [("server", {"type": f"response.{name}", "response": response()}) for name in ("created", "completed")]
    (exchange,) = to_http_interactions(socket(("client", warm_up), *ended))
    assert recorded_response(exchange) is None


def test_what_is_no_response_is_left_out():
    interactions = [
        over_http({}, {"error": {}}, status=400),
        Interaction("GET", f"{URI}/resp_1", status=200, chunks=((0.0, compact(response())),)),
        over_http({}, [1]),
        streamed(b"data: {\n\n"),
        over_http({}, response(MESSAGE), answer_headers=JSON),
    ]
    assert len(turns_from_recording(interactions, "it")) == 1


@pytest.mark.parametrize(
    ("recording", "problem"),
    [
        ([], "it has no model response"),
        ([over_http({}, response({"type": "new"}))], "the answer of response 1 cannot be a turn: type is 'new'"),
    ],
)
def test_a_recording_that_is_no_script_says_why(recording, problem):
    with pytest.raises(ScriptError, match=f"it: {problem}"):
        turns_from_recording(recording, "it")


def test_reasoning_keeps_what_it_says():
    item = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "status": None}
    ((line, _),) = turns_from_recording([over_http({}, response(item))], "it")
    assert line == reasoning("Hm.")


def test_behind_a_gateway_too():
    assert turns_from_recording([over_http({}, response(MESSAGE), uri="https://host/llm/v1/responses")], "it")
