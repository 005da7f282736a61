"""The recipe for Agent Framework, as docs/cookbook/agent-framework.md shows it."""

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatClient

from harness.items import function_call, message


@tool(approval_mode="never_require")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


async def test_a_session_remembers_the_weather(mock):
    mock.script(function_call("get_weather", {"city": "Paris"}), message("Mild."), message("No umbrella."))
    agent = Agent(OpenAIChatClient(model="gpt-5.6-sol"), instructions="Be brief.", tools=[get_weather])
    session = agent.create_session()
    assert (await agent.run("Weather in Paris?", session=session)).text == "Mild."
    assert (await agent.run("What do I take?", session=session)).text == "No umbrella."
    assert mock.calls.named("get_weather").times(1)
