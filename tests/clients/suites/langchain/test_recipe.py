"""The recipe for LangChain and LangGraph, as docs/cookbook/langchain.md shows it."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from harness.items import function_call, message


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


def make_agent():
    model = ChatOpenAI(model="gpt-5.6-sol", use_responses_api=True)
    return create_agent(model, [get_weather], checkpointer=InMemorySaver())


def test_a_thread_remembers_the_weather(mock):
    mock.script(function_call("get_weather", {"city": "Paris"}), message("Mild."), message("No umbrella."))
    agent, thread = make_agent(), {"configurable": {"thread_id": "ann"}}
    answer = agent.invoke({"messages": "Weather in Paris?"}, thread)
    assert answer["messages"][-1].text == "Mild."
    answer = agent.invoke({"messages": "And what do I take?"}, thread)
    assert answer["messages"][-1].text == "No umbrella."
    assert mock.calls.named("get_weather").times(1)
