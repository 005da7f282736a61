"""The unmodified `AsyncOpenAI` gets what `OpenAI` gets: `test_sync` says what; `test_sdk_surface` calls all of both."""

import asyncio

import pytest

from harness.items import message
from tests.support.clients.programs import MODEL

pytestmark = pytest.mark.asyncio

ASK = {"model": MODEL, "input": "hi"}


async def test_both_clients_are_answered_alike(mock, client, async_client):
    mock.script(message("Hello."), message("Hello."))
    one = await asyncio.to_thread(client.responses.create, **ASK)
    other = await async_client.responses.create(**ASK)
    changing = {"id", "created_at", "completed_at", "output"}
    assert one.model_dump(exclude=changing) == other.model_dump(exclude=changing)
    assert one.output[0].content == other.output[0].content


async def test_fifty_requests_at_once_get_fifty_answers(mock, async_client):
    mock.script(*[lambda request: message(request.body["input"])] * 50)
    requests = [f"question {number}" for number in range(50)]
    answers = await asyncio.gather(*(async_client.responses.create(model=MODEL, input=text) for text in requests))
    assert [response.output_text for response in answers] == requests
    assert len({response.id for response in answers}) == len(
        {exchange.answer.headers["x-request-id"] for exchange in mock.exchanges}
    )
