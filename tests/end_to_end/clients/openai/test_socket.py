"""What the unmodified SDK gets over `responses.connect()`: the events of a stream, and errors it can read."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)

from harness.items import message
from tests.support.clients.programs import MODEL

ENDS = ("response.completed", "error", "response.steer.failed")
GPT6 = "gpt-6-astra"
LIMITS = ResponsesWebSocketLimits(
    max_lanes=8, max_events_per_lane=100, max_events=100, max_bytes_per_lane=10**6, max_bytes=10**6
)


def ask(connection: Any, **body: Any) -> Any:
    """Send a request, and return the event that ends its answer."""
    connection.response.create(**{"model": MODEL, "input": "hi", **body})
    return answered(connection)[-1]


def answered(connection: Any) -> list[Any]:
    """Return the events up to the one that ends an answer."""
    events = []
    for event in connection:
        events.append(event)
        if event.type in ENDS:
            break
    return events


def test_a_response_is_streamed_event_by_event(mock, client):
    mock.script(message(["Hel", "lo."]))
    with client.responses.connect() as connection:
        connection.response.create(model=MODEL, input="hi")
        events = answered(connection)
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Hel", "lo."]
    assert [event.sequence_number for event in events] == list(range(10))
    assert client.responses.retrieve(events[-1].response.id).output_text == "Hello."


def test_an_event_that_nobody_handles_is_raised_by_the_dispatcher(mock, client):
    with mock.refuses("previous_response_not_found"), client.responses.connect() as connection:
        connection.response.create(model=MODEL, input="hi", previous_response_id="resp_x")
        with pytest.raises(openai.OpenAIError, match="Previous response with id 'resp_x' not found"):
            connection.dispatch_events()


def test_lanes_are_distinguished(mock, client):
    mock.when(input="plan").script(message("A plan."))
    mock.when(input="risks").script(message("No risks."))
    with (
        client.responses.connect() as connection,
        ResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        lanes = {text: session.lane(name) for name, text in (("planner", "plan"), ("research", "risks"))}
        for text, lane in lanes.items():
            lane.send({"type": "response.create", "model": MODEL, "input": text})
        texts = [lane.get_final_response(timeout=10).output_text for lane in lanes.values()]
    assert texts == ["A plan.", "No risks."]


def test_a_steered_response_is_followed_by_another(mock, client):
    mock.script(message("A long plan."), message("A short plan."))
    with client.responses.connect() as connection:
        first = ask(connection, model=GPT6, input="Draft a plan.").response
        connection.response.steer(previous_response_id=first.id, input="Keep it small.")
        accepted, *rest = answered(connection)
    assert (accepted.type, accepted.steer.previous_response_id) == ("response.steer.accepted", first.id)
    assert rest[-1].response.output_text == "A short plan."


@pytest.mark.asyncio
async def test_the_async_client_is_answered_alike(mock, async_client):
    mock.script(message("Hello."), message("Again."))
    async with async_client.responses.connect() as connection:
        await connection.response.create(model=MODEL, input="hi", store=False)
        first = [event async for event in until_completed(connection)][-1].response
        await connection.response.create(model=MODEL, input="hi", previous_response_id=first.id, store=False)
        second = [event async for event in until_completed(connection)][-1].response
    assert (first.output_text, second.output_text) == ("Hello.", "Again.")


async def until_completed(connection: Any) -> AsyncIterator[Any]:
    async for event in connection:
        yield event
        if event.type in ENDS:
            return


@pytest.mark.asyncio
async def test_lanes_of_the_async_client_run_at_the_same_time(mock, async_client):
    mock.when(input="plan").script(message("A plan."))
    mock.when(input="risks").script(message("No risks."))
    async with (
        async_client.responses.connect() as connection,
        AsyncResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        planner, research = session.lane("planner"), session.lane("research")
        await planner.send({"type": "response.create", "model": MODEL, "input": "plan"})
        await research.send({"type": "response.create", "model": MODEL, "input": "risks"})
        assert (await research.get_final_response()).output_text == "No risks."
        assert (await planner.get_final_response()).output_text == "A plan."
