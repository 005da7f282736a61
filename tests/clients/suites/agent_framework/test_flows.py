"""One agent: text, tools, structured output, citations, reasoning, images, shells."""

import pytest
from agent_framework import Agent, Content, Message
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
    outputs,
)

from harness import surfaced
from harness.items import (
    image_generation_call,
    message,
    reasoning,
    shell_call,
    shell_call_output,
    shell_output,
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


@MEMORIES
async def test_parallel_tools(mock, chat, run, options):
    mock.script([message("I look them up. "), PARIS, OSLO], message("Both are mild."))
    result = await run(Agent(chat, tools=[get_weather], default_options=options), "Paris and Oslo?")
    assert outputs(mock.exchanges[1]) == ["Paris: mild", "Oslo: mild"]
    surfaced(result, mock.replies)


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
    report = Content.from_data(b"%PDF-1.4 a report", media_type="application/pdf", name="report.pdf")
    asked = Message("user", [Content.from_text("What is this?"), pixel, report])
    result = await run(Agent(openai, default_options=options), asked)
    assert result.text == "A pixel."


KEPT = {"model": "gpt-5.4"}
MEMORIES = pytest.mark.parametrize("options", [KEPT, KEPT | {"store": False}], ids=["kept", "stateless"])


@MEMORIES
async def test_local_shell(mock, openai, run, options):
    ran = []

    def execute(command: str) -> str:
        ran.append(command)
        return "guide.txt"

    mock.script([message("I look."), shell_call(["ls"])], message("There is a guide."), message("Bye."))
    shell = openai.get_shell_tool(func=execute, approval_mode="never_require")
    agent = Agent(openai, tools=[shell], default_options=options)
    session = agent.create_session()
    result = await run(agent, "What is there?", session=session)
    assert (result.messages[-1].text, ran) == ("There is a guide.", ["ls"])
    assert (await run(agent, "Bye.", session=session)).text == "Bye."


@MEMORIES
async def test_hosted_shell(mock, openai, run, options):
    call = shell_call(["ls"], call_id="call_1")
    mock.script([call, shell_call_output("call_1", shell_output("guide.txt")), message("A guide.")], message("Bye."))
    agent = Agent(openai, tools=[openai.get_shell_tool()], default_options=options)
    session = agent.create_session()
    surfaced(await run(agent, "What is there?", session=session), mock.replies)
    assert (await run(agent, "Bye.", session=session)).text == "Bye."
