"""What the unmodified `AsyncOpenAI` gets from the mock; `test_sync` says what it must be, this that it is the same."""

from __future__ import annotations

import asyncio

import openai
import pytest
from pydantic import BaseModel

from harness.items import function_call, message, reasoning, refusal, url_citation
from tests.support.clients.programs import MODEL, WEATHER, outputs, sent_back

pytestmark = pytest.mark.asyncio

ASK = {"model": MODEL, "input": "hi"}


class City(BaseModel):
    name: str


async def test_create_answers_what_the_script_says(mock, async_client):
    mock.script(message("Hello."))
    response = await async_client.responses.create(**ASK)
    assert (response.output_text, response.status) == ("Hello.", "completed")


async def test_both_clients_are_answered_alike(mock, client, async_client):
    mock.script(message("Hello."), message("Hello."))
    one = await asyncio.to_thread(client.responses.create, **ASK)
    other = await async_client.responses.create(**ASK)
    changing = {"id", "created_at", "completed_at", "output"}
    assert one.model_dump(exclude=changing) == other.model_dump(exclude=changing)
    assert one.output[0].content == other.output[0].content


async def test_a_stream_has_all_its_events(mock, async_client):
    mock.script(message(["Hel", "lo."]))
    async with await async_client.responses.create(**ASK, stream=True) as stream:
        events = [event async for event in stream]
    assert [event.sequence_number for event in events] == list(range(10))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    read = (await async_client.responses.retrieve(events[0].response.id)).to_dict()
    assert read == {**events[-1].response.to_dict(), "billing": {"payer": "developer"}}


async def test_the_streaming_helper_adds_up_what_it_saw(mock, async_client):
    note = url_citation("https://example.com", "Example", cite="Hello")
    mock.script([reasoning("**Greeting**"), message(["Hel", "lo."], annotations=[note])])
    async with async_client.responses.stream(**ASK) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert kinds.count("response.output_text.annotation.added") == 1
    assert final.output_text == "Hello."
    assert final.output[1].content[0].annotations[0].end_index == 5


async def test_parse_reads_the_text_as_a_model_or_gives_none(mock, async_client):
    mock.script(message('{"name":"Oslo"}'), message(refusal("No.")))
    parsed = [await async_client.responses.parse(**ASK, text_format=City) for _ in range(2)]
    assert [response.output_parsed for response in parsed] == [City(name="Oslo"), None]


async def test_the_inline_tools_loop(mock, async_client):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4 degrees."))
    requests = [{"role": "user", "content": "Weather in Oslo?"}]
    first = await async_client.responses.create(model=MODEL, input=requests, tools=[WEATHER], store=False)
    replayed = [*requests, *sent_back(first), *outputs(first)]
    second = await async_client.responses.create(model=MODEL, input=replayed, tools=[WEATHER], store=False)
    assert second.output_text == "4 degrees."
    types = [item.get("type", item.get("role")) for item in mock.exchanges[1].request.body["input"]]
    assert types == ["user", "function_call", "function_call_output"]


async def test_the_chained_tools_loop(mock, async_client):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4 degrees."))
    first = await async_client.responses.create(**ASK, tools=[WEATHER])
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
        await async_client.responses.create(**ASK, previous_response_id=first.id)
    second = await async_client.responses.create(model=MODEL, input=outputs(first), previous_response_id=first.id)
    assert second.output_text == "4 degrees."
    assert [exchange.status for exchange in mock.exchanges] == [200, 400, 200]


async def test_read_back_list_and_delete(mock, async_client):
    mock.script(message("hi"))
    words = ["one", "two", "three"]
    made = await async_client.responses.create(model=MODEL, input=[{"role": "user", "content": word} for word in words])
    listed = [item async for item in async_client.responses.input_items.list(made.id, limit=1, order="asc")]
    assert [item.content[0].text for item in listed] == words
    await async_client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not found"):
        await async_client.responses.retrieve(made.id)


async def test_a_conversation_remembers(mock, async_client):
    mock.script(message("Hello, Ann."), message("Ann."))
    conversation = await async_client.conversations.create(items=[{"role": "developer", "content": "Be brief."}])
    for question in ("I am Ann.", "Who am I?"):
        response = await async_client.responses.create(model=MODEL, input=question, conversation=conversation.id)
    assert response.output_text == "Ann."
    first, second = (exchange.answer.body["usage"]["input_tokens"] for exchange in mock.exchanges[1:])
    assert second > first


async def test_the_headers_are_those_of_the_api(mock, async_client):
    mock.script(message("hi"))
    raw = await async_client.responses.with_raw_response.create(**ASK)
    assert raw.headers["openai-version"] == "2020-10-01"
    assert (raw.request_id, raw.parse().output_text) == (raw.parse()._request_id, "hi")


@pytest.mark.parametrize(
    ("more", "kind", "param"),
    [
        ({"temperature": 3}, openai.BadRequestError, "temperature"),
        ({"prompt": {"id": "pmpt_x"}}, openai.NotFoundError, None),
    ],
)
async def test_a_refusal_is_a_typed_exception(mock, async_client, more, kind, param):
    with pytest.raises(kind) as caught:
        await async_client.responses.create(**ASK, **more)
    assert caught.value.param == param


async def test_fifty_requests_at_once_get_fifty_answers(mock, async_client):
    mock.script(*[lambda request: message(request.body["input"])] * 50)
    requests = [f"question {number}" for number in range(50)]
    answers = await asyncio.gather(*(async_client.responses.create(model=MODEL, input=text) for text in requests))
    assert [response.output_text for response in answers] == requests
    assert len({response.id for response in answers}) == len(
        {one.answer.headers["x-request-id"] for one in mock.exchanges}
    )
