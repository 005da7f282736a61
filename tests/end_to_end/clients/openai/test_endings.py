"""What the unmodified `openai` SDK makes of responses that do not end well, and of what a request includes."""

import openai
import pytest
from pydantic import BaseModel

from harness.ending import completed, failed, incomplete
from harness.items import code_interpreter_call, file_search_call, message
from tests.support.clients.programs import MODEL
from tests.support.tools import tools_for

ASK = {"model": MODEL, "input": "hi"}
FOUND = [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "rain", "attributes": {}}]


class City(BaseModel):
    name: str


def test_an_incomplete_response_says_why(mock, client):
    mock.script([message("Once upon"), incomplete()])
    response = client.responses.create(**ASK, max_output_tokens=16)
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (response.output_text, response.output[0].status) == ("Once upon", "incomplete")


def test_a_text_longer_than_the_limit_is_cut(mock, client):
    mock.script(message("la " * 20))
    with client.responses.stream(**ASK, max_output_tokens=16) as stream:
        kinds = [event.type for event in stream]
    assert kinds[-1] == "response.incomplete"


@pytest.mark.parametrize(
    ("code", "kind"),
    [("server_error", openai.InternalServerError), ("rate_limit_exceeded", openai.RateLimitError)],
)
def test_a_failure_is_an_exception(mock, client, code, kind):
    mock.script(failed(code, "Sorry."))
    with pytest.raises(kind, match=r"Sorry\.") as caught:
        client.responses.create(**ASK)
    assert caught.value.code == code


def test_a_failure_within_a_stream_is_an_exception_after_the_first_words(mock, client):
    mock.script([message(["On", "ce"]), failed("server_error", "Sorry.")])
    heard = []
    with pytest.raises(openai.APIError, match=r"Sorry\."):
        heard += [event.type for event in client.responses.create(**ASK, stream=True)]
    assert [event["type"] for event in mock.exchanges[0].answer.events][-2:] == ["error", "response.failed"]


def test_a_failure_in_the_background_is_read_back(mock, client):
    mock.script(failed("server_error", "Sorry."))
    id = client.responses.create(**ASK, background=True).id
    while (response := client.responses.retrieve(id)).status in ("queued", "in_progress"):
        pass
    assert (response.status, response.error.code, response.error.message) == ("failed", "server_error", "Sorry.")


def test_what_is_included_is_there(mock, client):
    turn = [file_search_call("rain", results=FOUND), code_interpreter_call("1", outputs=["1"])]
    mock.script(turn, turn)
    tools = [{"type": "file_search", "vector_store_ids": [mock.vector_store()]}, *tools_for(turn[1])]
    files, code = client.responses.create(**ASK, tools=tools).output
    assert files.results is code.outputs is None
    included = ["file_search_call.results", "code_interpreter_call.outputs"]
    files, code = client.responses.create(**ASK, tools=tools, include=included).output
    assert (files.results[0].text, code.outputs[0].logs) == ("rain", "1")


def test_a_later_retrieve_includes_what_was_hidden(mock, client):
    turn = code_interpreter_call("1", outputs=["1"])
    mock.script(turn)
    id = client.responses.create(**ASK, tools=tools_for(turn)).id
    assert client.responses.retrieve(id).output[0].outputs is None
    assert client.responses.retrieve(id, include=["code_interpreter_call.outputs"]).output[0].outputs[0].logs == "1"


def test_a_parsed_text_keeps_to_its_schema_unless_a_turn_breaks_it(mock, client):
    mock.script(message('{"name": "Oslo"}'), [message('{"name": 5}'), completed(off_schema=True)])
    assert client.responses.parse(**ASK, text_format=City).output_parsed == City(name="Oslo")
    with pytest.raises(ValueError, match="name"):
        client.responses.parse(**ASK, text_format=City)
