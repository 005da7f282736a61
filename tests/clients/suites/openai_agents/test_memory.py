"""Several turns of openai-agents, in sessions of the client."""

import pytest
from agents import Agent, OpenAIConversationsSession, SQLiteSession
from openai import AsyncOpenAI
from shipping import get_weather
from story import ANSWERS, PARIS, QUESTIONS, sizes

from harness.items import message, reasoning


@pytest.fixture
def clerk(mock, thinking):
    mock.script([reasoning("**Looking up**"), PARIS], *map(message, ANSWERS))
    return Agent("Clerk", instructions="Be short.", model=thinking, tools=[get_weather])


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
