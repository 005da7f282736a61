"""Answers that are made in the background: asked for until they are there, or streamed in two parts."""

from agent_framework import Agent
from given import get_weather
from story import PARIS

from harness.items import message


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
