"""Several turns: chained by the API, replayed from a session, shortened, across processes, in the background."""

import json

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    FileHistoryProvider,
    Message,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    SummarizationStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
)
from given import get_weather
from story import ANSWERS, PARIS, QUESTIONS, SEALED, sizes

from harness import surfaced
from harness.items import function_call, message, reasoning

OPENAI = pytest.mark.parametrize("chat", ["openai"], indirect=True)

CITIES = ("Paris", "Oslo", "Rome", "Lima", "Bern")
STRATEGIES = {
    "window": lambda client: SlidingWindowStrategy(keep_last_groups=3),
    "truncation": lambda client: TruncationStrategy(max_n=6, compact_to=3),
    "without-old-calls": lambda client: SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=1),
    "calls-as-text": lambda client: ToolResultCompactionStrategy(keep_last_tool_call_groups=1),
    "summary": lambda client: SummarizationStrategy(client=client, target_count=3, threshold=2),
}


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


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_compaction(mock, openai, run, strategy):
    mock.when(tools="get_weather").script(*[turn for city in CITIES for turn in turns(city)])
    if strategy == "summary":
        mock.script(summary)
    how = STRATEGIES[strategy](openai)
    agent = Agent(openai, tools=[get_weather], default_options=SEALED, compaction_strategy=how)
    session = agent.create_session()
    for city in CITIES:
        result = await run(agent, f"How is {city}?", session=session)
        assert result.messages[-1].text == f"In {city} it is mild."
    assert len(mock.exchanges[-1].request.body["input"]) < 20, "nothing was left out"


def summary(request):
    while True:
        yield message("They spoke of the weather.")


def turns(city):
    look = function_call("get_weather", {"city": city})
    return [reasoning("**Looking up**"), message("I look it up."), look], message(f"In {city} it is mild.")


async def finished(agent, first, session):
    """Return the result of a run in the background, asked for until it is there."""
    result = first
    while result.continuation_token:
        result = await agent.run(session=session, options={"continuation_token": result.continuation_token})
    return result


async def test_background(mock, openai):
    mock.script(message("Hello."), message("Bye."))
    agent = Agent(openai, default_options={"background": True})
    session = agent.create_session()
    first = await agent.run("Hi.", session=session)
    assert first.continuation_token
    result = await finished(agent, first, session)
    assert result.text == "Hello."
    assert (await finished(agent, await agent.run("Bye.", session=session), session)).text == "Bye."


async def test_background_with_a_tool(mock, openai):
    mock.script(PARIS, message("It is mild."))
    agent = Agent(openai, tools=[get_weather], default_options={"background": True})
    session = agent.create_session()
    result = await finished(agent, await agent.run("How is Paris?", session=session), session)
    assert result.text == "It is mild."


async def test_stream_in_the_background_is_resumed(mock, openai):
    mock.script(message(["Once ", "upon ", "a ", "time."]))
    agent = Agent(openai)
    session = agent.create_session()
    token = None
    async for update in agent.run("Tell.", stream=True, session=session, options={"background": True}):
        token = update.continuation_token or token
        if update.text:
            break
    stream = agent.run(stream=True, session=session, options={"continuation_token": token})
    async for _ in stream:
        pass
    assert (await stream.get_final_response()).text.endswith("time.")
