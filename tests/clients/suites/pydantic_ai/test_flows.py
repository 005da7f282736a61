"""One agent of pydantic-ai: text, streams, tools, structured output, citations, reasoning, usage."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, ToolOutput, UnexpectedModelBehavior
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.native_tools import FileSearchTool
from story import CITED, FORECAST, MILD, OSLO, PARIS, Forecast, answered, get_weather, outputs

from harness import surfaced
from harness.items import function_call, message, reasoning, refusal, url_citation

LINK = "[Paris](https://example.org/paris)"
RAW = {"openai_include_raw_annotations": True}


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_event_loops_share_the_http_client_of_all_providers(mock, number):
    """Providers without a client of their own share one in the process; each test has an event loop of its own."""
    mock.script(message("It is mild."))
    assert (await Agent(OpenAIResponsesModel("gpt-4.1")).run("How is Paris?")).output == "It is mild."


async def test_text(mock, model, run):
    mock.script(message("It is mild."))
    result = await run(Agent(model, instructions="Be short."), "How is Paris?")
    assert result.output == "It is mild."
    surfaced(result, mock.replies)


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


async def test_tools_one_after_the_other(mock, model, run):
    mock.script(PARIS, OSLO, message("Both are mild."))
    result = await run(Agent(model, tools=[get_weather]), "Paris and Oslo?")
    assert result.output == "Both are mild."
    surfaced(result, mock.replies)


async def test_parallel_tools(mock, model, run):
    mock.script([PARIS, OSLO], message("Both are mild."))
    result = await run(Agent(model, tools=[get_weather]), "Paris and Oslo?")
    assert (result.output, outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(result, mock.replies)


async def test_text_beside_a_call(mock, model, run):
    mock.script([message("I look it up."), PARIS], message("It is mild."))
    result = await run(Agent(model, tools=[get_weather]), "How is Paris?")
    assert result.output == "It is mild."
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


async def test_arguments_that_do_not_fit(mock, model, run):
    mock.script(function_call("get_weather", {"town": "Paris"}, off_schema=True), PARIS, message("It is mild."))
    result = await run(Agent(model, tools=[get_weather], retries=2), "How is Paris?")
    assert result.output == "It is mild."


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


async def test_refusal(mock, model, run):
    mock.script(message(refusal("I do not say that.")))
    with pytest.raises(UnexpectedModelBehavior, match="I do not say that"):
        await run(Agent(model), "Say it.")


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


async def test_reasoning_without_storage_is_replayed_encrypted(mock, thinking, run):
    mock.script([reasoning("**Looking up**"), PARIS], message("It is mild."))
    settings = {"openai_store": False, "openai_reasoning_effort": "low"}
    result = await run(Agent(thinking, tools=[get_weather], model_settings=settings), "How is Paris?")
    (replayed,) = [item for item in mock.exchanges[1].request.body["input"] if item.get("type") == "reasoning"]
    assert (result.output, bool(replayed["encrypted_content"])) == ("It is mild.", True)


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
