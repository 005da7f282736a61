"""Agents of LangChain: tools in parallel, structured answers, tools of the API, several turns by replay and by chain."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from story import ANSWERS, CITED, CITED_FROM_CODE, FORECAST, MILD, OSLO, PARIS, QUESTIONS, REMOTE, Forecast, sizes
from weather import get_weather

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

THREAD = {"configurable": {"thread_id": "ann"}}


def says(text):
    return {"messages": [HumanMessage(text)]}


async def talk(run, agent):
    """Ask all questions on one thread."""
    return tuple([(await run(agent, says(question), config=THREAD))["messages"][-1].text for question in QUESTIONS])


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


@pytest.mark.parametrize(
    ("memory", "grown"), [("replay", [2, 5, 7, 9]), ("unstored", [2, 5, 7, 9])], indirect=["memory"]
)
async def test_replay(mock, chat, run, version, memory, grown):
    mock.script([reasoning("**Looking**"), PARIS], *map(message, ANSWERS))
    model = chat("gpt-5", **memory, **version)
    agent = create_agent(model, [get_weather], system_prompt="Be short.", checkpointer=InMemorySaver())
    assert (await talk(run, agent), sizes(mock)) == (ANSWERS, grown)


async def test_chain(mock, chat, run, version):
    mock.script([reasoning("**Looking**"), PARIS], *map(message, ANSWERS))
    model = chat("gpt-5", use_previous_response_id=True, **version)
    agent = create_agent(model, [get_weather], checkpointer=InMemorySaver())
    assert (await talk(run, agent), sizes(mock)) == (ANSWERS, [1, 1, 1, 1])


async def test_agent_as_a_tool(mock, chat, run):
    mock.when(instructions="lead").script(function_call("ask_ops", {"question": "Is v2 out?"}), message("Yes, it is."))
    mock.when(instructions="ops").script(message("v2 is out."))
    ops = create_agent(chat(), [], system_prompt="You are ops.")

    @tool
    async def ask_ops(question: str) -> str:
        """Ask ops."""
        return (await run(ops, says(question)))["messages"][-1].text

    lead = create_agent(chat(), [ask_ops], system_prompt="You are the lead.")
    assert (await run(lead, says("Is v2 out?")))["messages"][-1].text == "Yes, it is."


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


async def test_code(two_turns):
    await two_turns({"type": "code_interpreter", "container": {"type": "auto"}}, *CITED_FROM_CODE)


async def test_file_search(mock, two_turns):
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    await two_turns({"type": "file_search", "vector_store_ids": [store]}, *CITED)


async def test_image(two_turns):
    first = await two_turns({"type": "image_generation"}, image_generation_call(), message("Here."))
    assert any(block["type"] in ("image", "image_generation_call") for block in first.content)


async def test_hosted_mcp_without_leave(shipped, two_turns):
    address = {"server_label": "prod", "server_url": "https://mcp.example.org/sse", "require_approval": "never"}
    await two_turns({"type": "mcp", **address}, REMOTE, message("v2 is out."))
