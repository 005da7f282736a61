"""One agent of openai-agents: text, streams, tools, structured output, citations, reasoning."""

from agents import Agent, FileSearchTool, ModelSettings, RunConfig, Runner
from given import get_weather
from openai.types.shared import Reasoning
from story import CITED, FORECAST, MILD, OSLO, PARIS, Forecast, outputs

from harness import surfaced
from harness.items import message, reasoning


async def test_text(mock, model, run):
    mock.script(message("It is mild."))
    result = await run(Agent("Clerk", instructions="Be short.", model=model), "How is Paris?")
    assert result.final_output == "It is mild."
    surfaced(result, mock.replies)


async def test_stream(mock, model):
    mock.script(PARIS, message(["It ", "is ", "mild."]))
    clerk = Agent("Clerk", model=model, tools=[get_weather])
    result = Runner.run_streamed(clerk, "How is Paris?", run_config=RunConfig(tracing_disabled=True))
    deltas, names = [], []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            deltas.append(event.data.delta)
        if event.type == "run_item_stream_event":
            names.append(event.name)
    assert deltas == ["It ", "is ", "mild."]
    assert names == ["tool_called", "tool_output", "message_output_created"]
    surfaced(result, mock.replies)


async def test_tools_one_after_the_other(mock, model, run):
    mock.script(PARIS, OSLO, message("Both are mild."))
    result = await run(Agent("Clerk", model=model, tools=[get_weather]), "Paris and Oslo?")
    assert result.final_output == "Both are mild."
    surfaced(result, mock.replies)


async def test_parallel_tools(mock, model, run):
    mock.script([PARIS, OSLO], message("Both are mild."))
    result = await run(Agent("Clerk", model=model, tools=[get_weather]), "Paris and Oslo?")
    assert (result.final_output, outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(result, mock.replies)


async def test_structured_output(mock, model, run):
    mock.script(message(FORECAST))
    result = await run(Agent("Clerk", model=model, output_type=Forecast), "How is Paris?")
    assert result.final_output == MILD
    surfaced(result, mock.replies)


async def test_citations_are_kept_in_the_next_turn(mock, model, run):
    mock.script(CITED, message("In the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    clerk = Agent("Clerk", model=model, tools=[FileSearchTool([store], include_search_results=True)])
    first = await run(clerk, "How is it stored?")
    surfaced(first, mock.replies, only={"text", "annotations"})
    second = await run(clerk, [*first.to_input_list(), {"role": "user", "content": "Where?"}])
    assert second.final_output == "In the fridge."


async def test_reasoning_of_a_stored_response_is_replayed(mock, thinking, run):
    mock.script([reasoning("**Looking up**"), PARIS], message("It is mild."))
    result = await run(Agent("Clerk", model=thinking, tools=[get_weather]), "How is Paris?")
    assert result.final_output == "It is mild."
    surfaced(result, mock.replies)


async def test_reasoning_without_storage_is_replayed_encrypted(mock, thinking, run):
    mock.script([reasoning("**Looking up**"), PARIS], message("It is mild."))
    sealed = {"store": False, "response_include": ["reasoning.encrypted_content"]}
    settings = ModelSettings(**sealed, reasoning=Reasoning(effort="low"))
    result = await run(Agent("Clerk", model=thinking, tools=[get_weather], model_settings=settings), "How is Paris?")
    assert result.final_output == "It is mild."
