"""What the unmodified `openai` SDK gets from the mock, call by call."""

import openai
import pytest
from openai.types.responses import ResponseCompletedEvent
from pydantic import BaseModel

from harness.ending import completed, failed
from harness.items import (
    function_call,
    message,
    reasoning,
    refusal,
)
from tests.support.clients.programs import MODEL, WEATHER

ASK = {"model": MODEL, "input": "hi"}


class City(BaseModel):
    name: str
    celsius: int


class GetWeather(BaseModel):
    """The temperature in a city."""

    city: str


def test_create_answers_what_the_script_says(mock, client):
    mock.script(message("Hello."))
    response = client.responses.create(**ASK, instructions="Be brief.", temperature=0.5, metadata={"run": "1"})
    assert response.output_text == "Hello."
    assert (response.status, response.model, response.error) == ("completed", "gpt-4.1-2025-04-14", None)
    assert (response.instructions, response.temperature, response.metadata) == ("Be brief.", 0.5, {"run": "1"})
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
    assert [exchange.request.body["input"] for exchange in mock.exchanges] == ["hi"]


def test_a_stream_has_the_same_response_event_by_event(mock, client):
    mock.script(message(["Hel", "lo."]))
    with client.responses.create(**ASK, stream=True) as stream:
        events = list(stream)
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(10))
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Hel", "lo."]
    assert isinstance(events[-1], ResponseCompletedEvent)
    read = client.responses.retrieve(events[0].response.id).to_dict()
    assert read == {**events[-1].response.to_dict(), "billing": {"payer": "developer"}}


def test_the_streaming_helper_adds_up_what_it_saw(mock, client):
    mock.script([reasoning("**Greeting**"), message(["Hel", "lo."]), function_call("get_weather", {"city": "Oslo"})])
    with client.responses.stream(**ASK, tools=[WEATHER]) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots == ["Hel", "Hello."]
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert (final.output_text, final.output[2].arguments) == ("Hello.", '{"city":"Oslo"}')


def test_parse_reads_the_text_as_a_model(mock, client):
    mock.script(message('{"name":"Paris","celsius":18}'))
    response = client.responses.parse(**ASK, text_format=City)
    assert response.output_parsed == City(name="Paris", celsius=18)
    assert response.text.format.name == "City"
    sent = mock.exchanges[0].request.body["text"]["format"]
    assert (sent["type"], sent["strict"], sent["schema"]["required"]) == ("json_schema", True, ["name", "celsius"])


def test_the_streaming_helper_parses_too(mock, client):
    mock.script(message(['{"name":"Oslo",', '"celsius":4}']))
    with client.responses.stream(**ASK, text_format=City) as stream:
        assert stream.get_final_response().output_parsed == City(name="Oslo", celsius=4)


def test_parse_reads_the_arguments_of_a_call(mock, client):
    mock.script(function_call("GetWeather", {"city": "Oslo"}))
    response = client.responses.parse(**ASK, tools=[openai.pydantic_responses_function_tool(GetWeather)])
    assert response.output[0].parsed_arguments == GetWeather(city="Oslo")
    assert mock.exchanges[0].request.body["tools"][0]["name"] == "GetWeather"


def test_a_refusal_is_a_part_of_its_own(mock, client):
    mock.script(message(refusal("I cannot help.")), message(refusal(["I can", "not."])))
    response = client.responses.parse(**ASK, text_format=City)
    assert (response.status, response.output_parsed, response.output_text) == ("completed", None, "")
    assert response.output[0].content[0].refusal == "I cannot help."
    with client.responses.stream(**ASK, text_format=City) as stream:
        deltas = [event.delta for event in stream if event.type == "response.refusal.delta"]
    assert deltas == ["I can", "not."]


def test_a_reasoning_summary_arrives_in_json_and_in_a_stream(mock, client):
    thought = [reasoning(["**Adding**", "**Checking**"], encrypted_content="gAAAA"), message("4")]
    mock.script(thought, thought)
    body = {"model": "gpt-5", "input": "2+2?", "reasoning": {"summary": "auto", "effort": "low"}}
    response = client.responses.create(**body, include=["reasoning.encrypted_content"])
    assert [part.text for part in response.output[0].summary] == ["**Adding**", "**Checking**"]
    assert response.output[0].encrypted_content == "gAAAA"
    assert (response.reasoning.effort, response.reasoning.summary) == ("low", "detailed")
    assert response.usage.output_tokens_details.reasoning_tokens > 0
    with client.responses.stream(**body) as stream:
        done = [event.text for event in stream if event.type == "response.reasoning_summary_text.done"]
    assert done == ["**Adding**", "**Checking**"]


def test_a_parsed_text_keeps_to_its_schema_unless_a_turn_breaks_it(mock, client):
    mock.script(message('{"name":"Oslo","celsius":4}'), [message('{"name": 5}'), completed(off_schema=True)])
    assert client.responses.parse(**ASK, text_format=City).output_parsed == City(name="Oslo", celsius=4)
    with pytest.raises(ValueError, match="name"):
        client.responses.parse(**ASK, text_format=City)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("server_error", openai.InternalServerError), ("rate_limit_exceeded", openai.RateLimitError)],
)
def test_a_failure_is_an_exception(mock, client, code, kind):
    mock.script(failed(code, "Sorry."))
    with pytest.raises(kind, match=r"Sorry\.") as caught:
        client.responses.create(**ASK)
    assert caught.value.code == code
