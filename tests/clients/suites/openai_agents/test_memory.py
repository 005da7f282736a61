"""Several turns of openai-agents: replayed, chained, in a conversation of the API, in sessions of the client."""

import pytest
from agents import Agent, OpenAIConversationsSession, SQLiteSession
from given import get_weather
from openai import AsyncOpenAI
from story import ANSWERS, PARIS, QUESTIONS, sizes

from harness import surfaced
from harness.items import message, reasoning


@pytest.fixture
def clerk(mock, thinking):
    mock.script([reasoning("**Looking up**"), PARIS], *map(message, ANSWERS))
    return Agent("Clerk", instructions="Be short.", model=thinking, tools=[get_weather])


async def test_replay(mock, clerk, run):
    history, said = [], []
    for question in QUESTIONS:
        result = await run(clerk, [*history, {"role": "user", "content": question}])
        surfaced(result, mock.replies)
        history = result.to_input_list()
        said.append(result.final_output)
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 4, 6, 8])


async def test_chain(mock, clerk, run):
    last, said = None, []
    for question in QUESTIONS:
        result = await run(clerk, question, previous_response_id=last, auto_previous_response_id=True)
        surfaced(result, mock.replies)
        last = result.last_response_id
        said.append(result.final_output)
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 1, 1, 1])


async def test_conversation(mock, clerk, run):
    conversation = await AsyncOpenAI().conversations.create()
    said = [(await run(clerk, question, conversation_id=conversation.id)).final_output for question in QUESTIONS]
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 1, 1, 1])


async def test_session(mock, clerk, run):
    session = SQLiteSession("ann")
    said = [(await run(clerk, question, session=session)).final_output for question in QUESTIONS]
    session.close()
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 4, 6, 8])


async def test_session_in_a_conversation_of_the_api(mock, thinking, run):
    mock.script(
        [reasoning("**Looking up**"), PARIS], *[[reasoning("**Answering**"), message(text)] for text in ANSWERS]
    )
    clerk = Agent("Clerk", instructions="Be short.", model=thinking, tools=[get_weather])
    session = OpenAIConversationsSession(openai_client=AsyncOpenAI())
    said = [(await run(clerk, question, session=session)).final_output for question in QUESTIONS]
    assert (tuple(said), sizes(mock)) == (ANSWERS, [1, 4, 7, 10])
