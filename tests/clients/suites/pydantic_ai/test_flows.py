"""One agent of pydantic-ai: streams, tools, structured output, citations, reasoning, images, usage."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, BinaryImage, ModelRetry, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.native_tools import (
    CodeExecutionTool,
    FileSearchTool,
    ImageGenerationTool,
)
from story import CITED, CITED_FROM_CODE, FORECAST, MILD, OSLO, PARIS, Forecast, answered, get_weather, outputs

from harness import surfaced
from harness.items import (
    function_call,
    image_generation_call,
    message,
    reasoning,
    url_citation,
)

LINK = "[Paris](https://example.org/paris)"
RAW = {"openai_include_raw_annotations": True}

INCLUDED = {"openai_include_code_execution_outputs": True, "openai_include_raw_annotations": True}


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_event_loops_share_the_http_client_of_all_providers(mock, number):
    """Providers without a client of their own share one in the process; each test has an event loop of its own."""
    mock.script(message("It is mild."))
    assert (await Agent(OpenAIResponsesModel("gpt-4.1")).run("How is Paris?")).output == "It is mild."


def test_text_without_a_loop(mock, model):
    mock.script(message("It is mild."))
    result = Agent(model).run_sync("How is Paris?")
    assert result.output == "It is mild."
    surfaced(result, mock.replies)


async def test_stream(mock, model):
    mock.script(PARIS, message(["It ", "is ", "mild."]))
    async with Agent(model, tools=[get_weather]).run_stream("How is Paris?") as result:
        deltas = [delta async for delta in result.stream_text(delta=True, debounce_by=None)]
    assert deltas == ["It ", "is ", "mild."]
    surfaced(result, mock.replies)


async def test_parallel_tools(mock, model, run):
    mock.script([PARIS, OSLO], message("Both are mild."))
    result = await run(Agent(model, tools=[get_weather]), "Paris and Oslo?")
    assert (result.output, outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(result, mock.replies)


async def test_tool_asks_for_another_try(mock, model, run):
    mock.script(function_call("pick", {"number": 13}), function_call("pick", {"number": 7}), message("Seven."))
    agent = Agent(model)

    @agent.tool_plain(retries=2)
    def pick(number: int) -> str:
        if number == 13:
            raise ModelRetry("Not thirteen.")
        return "picked"

    result = await run(agent, "Pick a number.")
    assert result.output == "Seven."
    assert answered(mock) == [1, 1]


@pytest.mark.parametrize("form", [NativeOutput, PromptedOutput])
async def test_structured_output(mock, model, run, form):
    mock.script(message(FORECAST))
    result = await run(Agent(model, output_type=form(Forecast)), "How is Paris?")
    assert result.output == MILD
    surfaced(result, mock.replies)


async def test_structured_output_by_a_tool(mock, model, run):
    mock.script(function_call("forecast", FORECAST), message("You are welcome."))
    agent = Agent(model, output_type=[ToolOutput(Forecast, name="forecast"), str])
    result = await run(agent, "How is Paris?")
    assert result.output == MILD
    second = await run(agent, "Thanks.", message_history=result.all_messages())
    assert second.output == "You are welcome."


@pytest.mark.parametrize("settings", [{}, RAW], ids=["citations", "raw"])
async def test_web_citation(mock, model, run, settings):
    note = url_citation("https://example.org/paris", "Paris", cite=LINK)
    mock.script(message(f"Paris is mild ({LINK}).", annotations=[note]), message("It stays so."))
    agent = Agent(model, model_settings=settings)
    first = await run(agent, "How is Paris?")
    surfaced(first, mock.replies, only={"text", "annotations"})
    second = await run(agent, "And tomorrow?", message_history=first.all_messages())
    assert second.output == "It stays so."


@pytest.mark.parametrize("settings", [{}, RAW], ids=["citations", "raw"])
async def test_file_citation(mock, model, run, settings):
    mock.script(CITED, message("In the fridge."))
    search = NativeTool(FileSearchTool(file_store_ids=[mock.vector_store()]))
    agent = Agent(model, capabilities=[search], model_settings=settings)
    first = await run(agent, "How is it stored?")
    surfaced(first, mock.replies, only={"text", "annotations"})
    second = await run(agent, "Where?", message_history=first.all_messages())
    assert second.output == "In the fridge."


async def test_reasoning_is_replayed(mock, thinking, run):
    mock.script([reasoning("**Looking up**"), PARIS], [reasoning("**Done**"), message("It is mild.")], message("Yes."))
    agent = Agent(thinking, tools=[get_weather], model_settings={"openai_reasoning_summary": "auto"})
    result = await run(agent, "How is Paris?")
    assert result.output == "It is mild."
    surfaced(result, mock.replies)
    second = await run(agent, "Sure?", message_history=result.all_messages())
    assert second.output == "Yes."


async def test_several_reasonings_in_a_row(mock, thinking, run):
    mock.script([reasoning(["**One**", "**Two**"]), reasoning(), PARIS, OSLO], message("Both are mild."))
    result = await run(Agent(thinking, tools=[get_weather]), "Paris and Oslo?")
    assert result.output == "Both are mild."


async def test_phases_are_kept(mock, provider, run):
    mock.script([message("I look it up.", phase="commentary"), PARIS], message("It is mild.", phase="final_answer"))
    mock.script(message("Yes.", phase="final_answer"))
    agent = Agent(OpenAIResponsesModel("gpt-5.6-sol", provider=provider), tools=[get_weather])
    first = await run(agent, "How is Paris?")
    second = await run(agent, "Sure?", message_history=first.all_messages())
    assert (first.output, second.output) == ("It is mild.", "Yes.")


async def test_usage(mock, model, run):
    mock.script(PARIS, message("It is mild."))
    result = await run(Agent(model, tools=[get_weather]), "How is Paris?")
    assert result.usage.requests == 2
    surfaced(result, mock.replies, only={"usage"})


@pytest.fixture
def two_turns(mock, thinking, run, memory):
    """Ask an agent with a tool of the API, then thank it; the result of the first turn."""

    async def play(tool, *turn):
        mock.script([reasoning("**Looking**"), *turn], message("You are welcome."))
        agent = Agent(thinking, capabilities=[NativeTool(tool)], model_settings={**INCLUDED, **memory})
        first = await run(agent, "Please do it.")
        surfaced(first, mock.replies)
        second = await run(agent, "Thank you.", message_history=first.all_messages())
        assert second.output == "You are welcome."
        return first

    return play


@pytest.mark.parametrize("memory", ["replay"], indirect=True)
async def test_file_that_code_wrote(two_turns):
    await two_turns(CodeExecutionTool(), *CITED_FROM_CODE)


async def test_image(two_turns):
    first = await two_turns(ImageGenerationTool(output_format="png"), image_generation_call(), message("Here."))
    assert [isinstance(image, BinaryImage) for image in first.response.images] == [True]


async def test_image_that_is_the_answer(mock, thinking, run):
    mock.script(image_generation_call(["aGFsZg==", "d2hvbGU="]))
    tool = ImageGenerationTool(provider_settings={"openai": {"partial_images": 1}})
    agent = Agent(thinking, output_type=BinaryImage, capabilities=[NativeTool(tool)])
    assert (await run(agent, "Draw.")).output.data == b"whole"
