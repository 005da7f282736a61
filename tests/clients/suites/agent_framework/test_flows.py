"""One agent: text, tools, structured output, citations, reasoning, images."""

import pytest
from agent_framework import Agent, Content, Message, tool
from given import KEPT, MEMORIES, get_weather
from story import (
    CITED,
    CITED_FROM_CODE,
    CITED_FROM_THE_WEB,
    FORECAST,
    MILD,
    OSLO,
    PARIS,
    SEALED,
    Forecast,
    answered,
    outputs,
)

from harness import surfaced
from harness.ending import incomplete
from harness.items import (
    image_generation_call,
    message,
    reasoning,
    refusal,
)


async def test_text(mock, chat, run):
    mock.script(message("Hello."))
    result = await run(Agent(chat, instructions="Be kind."), "Hi.")
    assert result.text == "Hello."
    surfaced(result, mock.replies)


async def test_pieces_of_a_stream(mock, openai):
    mock.script(message(["Paris ", "is ", "mild."]))
    updates = [update async for update in Agent(openai).run("How is Paris?", stream=True)]
    pieces = [piece for update in updates for piece in update.contents]
    deltas = [piece.text for piece in pieces if piece.merge_mode == "append" and piece.text]
    assert deltas == ["Paris ", "is ", "mild."]
    surfaced(updates, mock.replies)


async def test_refusal(mock, openai, run):
    mock.script(message(refusal("I cannot help with that.")))
    result = await run(Agent(openai), "Break in.")
    assert result.text == "I cannot help with that."
    surfaced(result, mock.replies)


async def test_text_that_breaks_off(mock, openai, run):
    mock.script([message("Once upon a"), incomplete("content_filter")])
    result = await run(Agent(openai), "Tell a story.")
    surfaced(result, mock.replies)
    assert result.finish_reason == "content_filter"


@MEMORIES
async def test_tools(mock, chat, run, options):
    mock.script(PARIS, OSLO, message("Both are mild."))
    result = await run(Agent(chat, tools=[get_weather], default_options=options), "Paris and Oslo?")
    assert result.text == "Both are mild."
    surfaced(result, mock.replies)


@MEMORIES
async def test_parallel_tools(mock, chat, run, options):
    mock.script([message("I look them up. "), PARIS, OSLO], message("Both are mild."))
    result = await run(Agent(chat, tools=[get_weather], default_options=options), "Paris and Oslo?")
    assert outputs(mock.exchanges[1]) == ["Paris: mild", "Oslo: mild"]
    surfaced(result, mock.replies)


@MEMORIES
async def test_tool_that_fails(mock, openai, run, options):
    @tool(approval_mode="never_require")
    def get_weather(city: str) -> str:
        """The weather in a city."""
        raise OSError("no network")

    mock.script(PARIS, message("I do not know."))
    result = await run(Agent(openai, tools=[get_weather], default_options=options), "Paris?")
    assert result.text == "I do not know."
    assert answered(mock) == [1]


async def test_structured_output(mock, chat, run):
    mock.script(message(FORECAST))
    result = await run(Agent(chat, default_options={"response_format": Forecast}), "How is Paris?")
    assert result.value == MILD
    surfaced(result, mock.replies)


async def test_structured_output_after_a_tool(mock, openai, run):
    mock.script(PARIS, message(FORECAST))
    agent = Agent(openai, tools=[get_weather], default_options={"response_format": Forecast})
    assert (await run(agent, "How is Paris?")).value == MILD


@MEMORIES
async def test_citations_of_a_file_search(mock, chat, run, options):
    mock.script(CITED, message("In the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    search = chat.get_file_search_tool(vector_store_ids=[store])
    await cited(mock, run, Agent(chat, tools=[search], default_options=options))


@MEMORIES
async def test_citations_of_a_web_search(mock, chat, run, options):
    mock.script(CITED_FROM_THE_WEB, message("In the fridge."))
    await cited(mock, run, Agent(chat, tools=[chat.get_web_search_tool()], default_options=options))


@MEMORIES
async def test_citations_of_a_code_interpreter(mock, chat, run, options):
    mock.script(CITED_FROM_CODE, message("In the fridge."))
    await cited(mock, run, Agent(chat, tools=[chat.get_code_interpreter_tool()], default_options=options))


async def cited(mock, run, agent):
    """A first answer whose citations are surfaced, and a second turn that must keep them."""
    session = agent.create_session()
    first = await run(agent, "How is it stored?", session=session)
    surfaced(first, mock.replies)
    assert (await run(agent, "Where?", session=session)).text == "In the fridge."


@MEMORIES
async def test_image(mock, openai, run, options):
    mock.script([image_generation_call(), message("Here it is.")], message("You are welcome."))
    agent = Agent(openai, tools=[openai.get_image_generation_tool()], default_options=options)
    session = agent.create_session()
    surfaced(await run(agent, "Draw a cat.", session=session), mock.replies)
    assert (await run(agent, "Thanks.", session=session)).text == "You are welcome."


@pytest.mark.parametrize("options", [KEPT, SEALED], ids=["kept", "sealed"])
async def test_reasoning(mock, chat, run, options):
    mock.script([reasoning("**Looking up**"), PARIS], [reasoning("**Answering**"), message("It is mild.")])
    mock.script(message("Also mild."))
    options = {"reasoning": {"effort": "low", "summary": "auto"}, **options}
    agent = Agent(chat, tools=[get_weather], default_options=options)
    session = agent.create_session()
    first = await run(agent, "How is Paris?", session=session)
    surfaced(first, mock.replies)
    assert (await run(agent, "And Oslo?", session=session)).text == "Also mild."


@MEMORIES
async def test_picture_and_file(mock, openai, run, options):
    mock.script(message("A pixel."))
    pixel = Content.from_uri("https://example.org/pixel.png", media_type="image/png")
    report = Content.from_data(b"%PDF-1.4 a report", media_type="application/pdf")
    asked = Message("user", [Content.from_text("What is this?"), pixel, report])
    result = await run(Agent(openai, default_options=options), asked)
    assert result.text == "A pixel."
