"""What the unmodified `openai` SDK gets from the mock, call by call."""

import openai
from openai.types.responses import ResponseCompletedEvent
from pydantic import BaseModel

from harness.items import (
    container_file_citation,
    file_citation,
    file_path,
    function_call,
    message,
    reasoning,
    refusal,
    url_citation,
)
from tests.support.clients.programs import MODEL, WEATHER

ASK = {"model": MODEL, "input": "hi"}


class City(BaseModel):
    name: str
    celsius: int


class GetWeather(BaseModel):
    """The temperature in a city."""

    city: str


CITED = message(
    "Sales rose, see the plot and the sheet.",
    annotations=[
        url_citation("https://example.com/q2", "Quarter 2", cite="Sales rose"),
        container_file_citation("cntr_1", "cfile_1", "plot.png", cite="the plot"),
        file_citation("file-1", "report.pdf", cite="the plot"),
        file_path("file-2", cite="the sheet"),
    ],
)
KINDS = ["url_citation", "container_file_citation", "file_citation", "file_path"]


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


def test_annotations_of_every_kind_arrive_whole(mock, client):
    mock.script(CITED)
    part = client.responses.create(**ASK).output[0].content[0]
    assert [note.type for note in part.annotations] == KINDS
    url, container, file, path = part.annotations
    assert part.text[url.start_index : url.end_index] == "Sales rose"
    assert part.text[container.start_index : container.end_index] == "the plot"
    assert (url.url, url.title) == ("https://example.com/q2", "Quarter 2")
    assert (container.container_id, container.file_id, container.filename) == ("cntr_1", "cfile_1", "plot.png")
    assert (file.file_id, file.filename, part.text[: file.index]) == (
        "file-1",
        "report.pdf",
        "Sales rose, see the plot",
    )
    assert (path.file_id, path.index) == ("file-2", len(part.text) - 1)


def test_annotations_are_streamed_after_the_text_they_cover(mock, client):
    mock.script(CITED, CITED)
    whole = client.responses.create(**ASK).output[0].content[0]
    text, notes = "", []
    with client.responses.stream(**ASK) as stream:
        for event in stream:
            text += event.delta if event.type == "response.output_text.delta" else ""
            if event.type == "response.output_text.annotation.added":
                notes.append(event.annotation.to_dict())
                assert event.annotation_index == len(notes) - 1
                assert len(text) >= notes[-1].get("end_index", notes[-1].get("index"))
        final = stream.get_final_response().output[0].content[0]
    assert notes == [note.to_dict() for note in whole.annotations]
    assert final.annotations == whole.annotations


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


def test_the_headers_are_those_of_the_api(mock, client):
    mock.script(message("hi"))
    raw = client.responses.with_raw_response.create(**ASK)
    assert raw.headers["openai-version"] == "2020-10-01"
    assert int(raw.headers["openai-processing-ms"]) >= 0
    assert raw.headers["content-type"] == "application/json"
    assert raw.headers["x-request-id"] == raw.request_id == raw.parse()._request_id
    assert raw.request_id.startswith("req_")
    with client.responses.with_streaming_response.retrieve(raw.parse().id) as second:
        assert second.request_id != raw.request_id


def test_input_items_come_newest_first_page_by_page(mock, client):
    mock.script(message("hi"))
    words = ["one", "two", "three", "four", "five"]
    made = client.responses.create(model=MODEL, input=[{"role": "user", "content": word} for word in words])
    listed = list(client.responses.input_items.list(made.id, limit=2))
    assert [item.content[0].text for item in listed] == words[::-1]
    assert len({item.id for item in listed}) == 5
    asked_after = [exchange.request.query.get("after") for exchange in mock.exchanges[1:]]
    assert asked_after == [None, listed[1].id, listed[3].id]
    page = client.responses.input_items.list(made.id, limit=2, order="asc")
    assert [item.content[0].text for item in page.data] == words[:2]
    assert page.has_more
