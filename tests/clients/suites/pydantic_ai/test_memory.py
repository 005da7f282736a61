"""Several turns of pydantic-ai: replayed from saved messages, in the background, over a WebSocket."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIResponsesModel
from story import ANSWERS, PARIS, QUESTIONS, get_weather, sizes

from harness.items import message, reasoning


@pytest.fixture
def clerk(mock, thinking):
    mock.script([reasoning("**Looking up**"), PARIS], *map(message, ANSWERS))
    return Agent(thinking, instructions="Be short.", tools=[get_weather])


async def talk(run, agent, **settings):
    """Ask all questions, each with the messages so far."""
    messages, said = [], []
    for question in QUESTIONS:
        result = await run(agent, question, message_history=messages, model_settings=settings)
        messages = result.all_messages()
        said.append(result.output)
    return tuple(said)


async def test_replay_of_saved_messages(mock, clerk, run):
    messages, said = b"[]", []
    for question in QUESTIONS:
        history = ModelMessagesTypeAdapter.validate_json(messages)
        result = await run(clerk, question, message_history=history)
        messages = result.all_messages_json()
        said.append(result.output)
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 4, 6, 8])


async def test_thoughts_are_replayed_as_text(mock, clerk, run):
    assert await talk(run, clerk, openai_send_reasoning_ids=False) == ANSWERS


async def test_background(mock, clerk, run):
    assert await talk(run, clerk, openai_background=True) == ANSWERS


async def test_another_agent_goes_on(mock, model, run):
    mock.when(instructions="researcher").script(PARIS, message("It is mild."))
    mock.when(instructions="writer").script(message("Mild days in Paris."))
    found = await run(Agent(model, instructions="You are the researcher.", tools=[get_weather]), "How is Paris?")
    writer = Agent(model, instructions="You are the writer.")
    result = await run(writer, "Write it up.", message_history=found.all_messages())
    assert result.output == "Mild days in Paris."


async def test_socket(mock, clerk, run):
    said = await talk(run, clerk, openai_transport="websocket")
    assert (said, sizes(mock)) == (ANSWERS, [1, 1, 1, 1])
    assert {exchange.request.method for exchange in mock.exchanges} == {"WS"}


async def test_socket_without_storage(mock, clerk, run):
    said = await talk(run, clerk, openai_transport="websocket", openai_store=False)
    assert (said, sizes(mock)) == (ANSWERS, [1, 1, 6, 8])


async def test_cache_diagnostics(mock, provider, run):
    mock.script(*map(message, ANSWERS))
    agent = Agent(OpenAIResponsesModel("gpt-5.6-sol", provider=provider))
    assert await talk(run, agent) == ANSWERS
    compared = mock.exchanges[1].request.body["prompt_cache_options"]["comparison_response_id"]
    assert compared == mock.replies[0].id
