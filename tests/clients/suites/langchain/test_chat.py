"""A chat model of langchain-openai, in each output version: text, tools, structured output, citations, reasoning."""

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from shipping import get_weather
from story import CITED, FORECAST, MILD, OSLO, PARIS, Forecast

from harness import surfaced
from harness.items import function_call, message, reasoning, refusal, url_citation


async def use_tools(ask, model, said, question):
    """Ask until no tool is wanted; all messages."""
    messages = [*said, HumanMessage(question)]
    while calls := (answer := await ask(model, messages)).tool_calls:
        messages += [answer, *(get_weather.invoke(call) for call in calls)]
    return [*messages, answer]


async def test_text(mock, chat, ask, version):
    mock.script(message(["It ", "is ", "mild."]))
    result = await ask(chat(**version), "How is Paris?")
    assert result.text == "It is mild."
    surfaced(result, mock.replies)


async def test_chunks(mock, chat, version):
    mock.script(message(["It ", "is ", "mild."]))
    chunks = [chunk async for chunk in chat(**version).astream("How is Paris?")]
    assert [chunk.text for chunk in chunks if chunk.text] == ["It ", "is ", "mild."]
    surfaced(chunks, mock.replies)


async def test_text_awaited(mock, chat):
    mock.script(message("It is mild."))
    surfaced(await chat().ainvoke("How is Paris?"), mock.replies)


def test_chunks_without_a_loop(mock, chat):
    mock.script(message(["It ", "is ", "mild."]))
    surfaced(list(chat().stream("How is Paris?")), mock.replies)


async def test_parallel_tools(mock, chat, ask, version):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    model = chat(**version).bind_tools([get_weather], parallel_tool_calls=True, strict=True)
    *_, result = await use_tools(ask, model, [], "Paris and Oslo?")
    assert result.text == "Both are mild."
    assert [call.outputs[0][1] for call in mock.calls] == ["Paris: mild", "Oslo: mild"]


async def test_forced_tool(mock, chat, ask):
    mock.script(PARIS)
    result = await ask(chat().bind_tools([get_weather], tool_choice="get_weather"), "How is Paris?")
    assert [call["args"] for call in result.tool_calls] == [{"city": "Paris"}]
    surfaced(result, mock.replies)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_structured_output(mock, chat, ask, method):
    mock.script(message(FORECAST) if method == "json_schema" else function_call("Forecast", FORECAST))
    model = chat().with_structured_output(Forecast, method=method, include_raw=True)
    result = await ask(model, "How is Paris?")
    assert result["parsed"] == MILD
    surfaced(result["raw"], mock.replies)


async def test_refusal(mock, chat, ask, version):
    mock.script(message(refusal("I do not say that.")), message("Gladly."))
    first = await ask(chat(**version), "Say it.")
    surfaced(first, mock.replies)
    second = await ask(chat(**version), [HumanMessage("Say it."), first, HumanMessage("Then something else.")])
    assert second.text == "Gladly."


async def test_web_citation(mock, chat, ask, version):
    note = url_citation("https://example.org/paris", "Paris", cite="mild")
    mock.script(message("Paris is mild.", annotations=[note]), message("It stays so."))
    first = await ask(chat(**version), "How is Paris?")
    surfaced(first, mock.replies)
    second = await ask(chat(**version), [HumanMessage("How is Paris?"), first, HumanMessage("And tomorrow?")])
    assert second.text == "It stays so."


async def test_file_citation(mock, chat, ask, version):
    mock.script(CITED, message("In the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    model = chat(**version).bind_tools([{"type": "file_search", "vector_store_ids": [store]}])
    first = await ask(model, "How is it stored?")
    surfaced(first, mock.replies)
    second = await ask(model, [HumanMessage("How is it stored?"), first, HumanMessage("Where?")])
    assert second.text == "In the fridge."


async def test_reasoning_is_replayed(mock, chat, ask, version):
    mock.script([reasoning(["**Looking**", "**up**"]), PARIS], [reasoning("**Done**"), message("It is mild.")])
    mock.script(message("Yes."))
    model = chat("gpt-5", reasoning={"effort": "low", "summary": "auto"}, **version).bind_tools([get_weather])
    first = await use_tools(ask, model, [], "How is Paris?")
    surfaced(first[-1], mock.replies)
    assert (await use_tools(ask, model, first, "Sure?"))[-1].text == "Yes."


async def test_usage(mock, chat, ask):
    mock.script([reasoning("**Looking**"), message("It is mild.")])
    result = await ask(chat("gpt-5"), "How is Paris?")
    surfaced(result, mock.replies, only={"usage"})


def test_old_output_version(mock, chat):
    mock.script([message("I look."), PARIS], message("It is mild."))
    model = chat(output_version="v0").bind_tools([get_weather])
    first = model.invoke("How is Paris?")
    answer = ToolMessage("Paris: mild", tool_call_id=first.tool_calls[0]["id"])
    assert model.invoke([HumanMessage("How is Paris?"), first, answer]).text == "It is mild."
