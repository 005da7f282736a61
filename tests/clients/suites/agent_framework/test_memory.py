"""Several turns: chained by the API, in a conversation of it, replayed from a session, across processes."""

import json

import pytest
from agent_framework import Agent, AgentSession, FileHistoryProvider, Message
from given import get_weather
from openai import AsyncOpenAI
from story import ANSWERS, PARIS, QUESTIONS, SEALED, sizes

from harness import surfaced
from harness.items import message, reasoning

OPENAI = pytest.mark.parametrize("chat", ["openai"], indirect=True)


@pytest.fixture
def clerk(mock, chat):
    mock.script([reasoning("**Looking up**"), message("I look it up."), PARIS], *map(message, ANSWERS))
    return lambda **options: Agent(chat, instructions="Be short.", tools=[get_weather], **options)


async def asked(mock, run, agent, session):
    said = []
    for question in QUESTIONS:
        result = await run(agent, question, session=session)
        surfaced(result, mock.replies)
        said.append(result.messages[-1].text)
    assert tuple(said) == ANSWERS


async def test_chain(mock, clerk, run):
    agent = clerk()
    await asked(mock, run, agent, agent.create_session())
    assert sizes(mock) == [1, 1, 1, 1]


async def test_conversation(mock, clerk, run):
    conversation = await AsyncOpenAI().conversations.create()
    agent = clerk()
    await asked(mock, run, agent, agent.get_session(service_session_id=conversation.id))
    assert sizes(mock) == [1, 1, 1, 1]


async def test_replay(mock, clerk, run):
    agent = clerk(default_options=SEALED)
    await asked(mock, run, agent, agent.create_session())
    assert sizes(mock) == [1, 5, 7, 9]


@OPENAI
async def test_history_in_a_file(mock, clerk, run, tmp_path):
    agent = clerk(default_options=SEALED, context_providers=[FileHistoryProvider(tmp_path)])
    await asked(mock, run, agent, agent.create_session())
    assert sizes(mock) == [1, 5, 7, 9]


@OPENAI
async def test_replay_by_hand(mock, clerk, run):
    agent, history = clerk(default_options=SEALED), []
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        history.append(Message("user", [question]))
        result = await run(agent, history)
        history += result.messages
        assert result.messages[-1].text == answer
    assert sizes(mock) == [1, 5, 7, 9]


@OPENAI
@pytest.mark.parametrize("options", [{}, SEALED], ids=["chain", "replay"])
async def test_session_is_saved_between_the_turns(mock, clerk, run, options):
    session, agent = AgentSession(), clerk(default_options=options)
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        session = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
        assert (await run(agent, question, session=session)).messages[-1].text == answer
