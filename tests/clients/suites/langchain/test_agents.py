"""Agents of LangChain: tools in parallel, structured answers, tools of the API, a history that another agent takes."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import HumanMessage
from shipping import get_weather
from story import FORECAST, MILD, OSLO, PARIS, Forecast

from harness import surfaced
from harness.items import (
    function_call,
    image_generation_call,
    message,
    reasoning,
    search,
    url_citation,
    web_search_call,
)


def says(text):
    return {"messages": [HumanMessage(text)]}


async def test_parallel_tools_of_an_agent(mock, chat, run, version):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    state = await run(create_agent(chat(**version), [get_weather]), says("Paris and Oslo?"))
    assert state["messages"][-1].text == "Both are mild."
    surfaced(state, mock.replies)


@pytest.mark.parametrize("strategy", [ProviderStrategy, ToolStrategy])
async def test_structured_answer(mock, chat, run, strategy):
    mock.script(PARIS, message(FORECAST) if strategy is ProviderStrategy else function_call("Forecast", FORECAST))
    agent = create_agent(chat(), [get_weather], response_format=strategy(Forecast))
    state = await run(agent, says("How is Paris?"))
    assert state["structured_response"] == MILD


async def test_another_agent_goes_on(mock, chat, run):
    mock.when(instructions="researcher").script(PARIS, message("It is mild."))
    mock.when(instructions="writer").script(message("Mild days in Paris."))
    found = await run(create_agent(chat(), [get_weather], system_prompt="You are the researcher."), says("Paris?"))
    writer = create_agent(chat(), [], system_prompt="You are the writer.")
    state = await run(writer, {"messages": [*found["messages"], HumanMessage("Write it up.")]})
    assert state["messages"][-1].text == "Mild days in Paris."


@pytest.fixture
def two_turns(mock, memory, chat, ask, version):
    """Ask a model with a tool of the API, then thank it; the message of the first turn."""

    async def play(tool, *turn):
        mock.script([reasoning("**Looking**"), *turn], message("You are welcome."))
        model = chat("gpt-5", **memory, **version).bind_tools([tool])
        first = await ask(model, "Please do it.")
        surfaced(first, mock.replies)
        second = await ask(model, [HumanMessage("Please do it."), first, HumanMessage("Thank you.")])
        assert second.text == "You are welcome."
        return first

    return play


async def test_web_search(two_turns):
    found = search("weather paris", sources=["https://example.org/paris"])
    note = url_citation("https://example.org/paris", "Paris", cite="mild")
    await two_turns({"type": "web_search"}, web_search_call(found), message("Paris is mild.", annotations=[note]))


async def test_image(two_turns):
    first = await two_turns({"type": "image_generation"}, image_generation_call(), message("Here."))
    assert any(block["type"] in ("image", "image_generation_call") for block in first.content)
