"""`litellm.completion` with `openai/responses/…`: chat completions that travel over the Responses API."""

import json
from functools import partial

import pytest
from story import ANSWERS, CITY, FORECAST, MILD, OSLO, PARIS, QUESTIONS, SEALED, Forecast, answered, get_weather, sizes

from harness import surfaced
from harness.items import message, reasoning, url_citation

WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": CITY}}


def user(text):
    return {"role": "user", "content": text}


@pytest.fixture
def think(complete):
    """Ask a model that reasons for a chat completion."""
    return partial(complete, "openai/responses/gpt-5")


async def use_tools(complete, messages, **asked):
    """Ask until no tool is wanted; all messages."""
    while calls := (answer := (await complete(messages=messages, **asked)).choices[0].message).tool_calls:
        messages = [*messages, answer.model_dump()]
        for call in calls:
            output = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    return [*messages, answer.model_dump()]


async def test_text_of_a_completion(mock, complete):
    mock.script(message(["It ", "is ", "mild."]))
    result = await complete(messages=[{"role": "system", "content": "Be short."}, user("How is Paris?")])
    assert result.choices[0].message.content == "It is mild."
    assert mock.exchanges[0].request.path == "/responses"
    surfaced(result, mock.replies)


async def test_tools_one_after_the_other(mock, complete):
    mock.script(PARIS, OSLO, message("Both are mild."))
    messages = await use_tools(complete, [user("Paris and Oslo?")], tools=[WEATHER])
    assert messages[-1]["content"] == "Both are mild."


async def test_parallel_tools_of_a_completion(mock, complete):
    mock.script([PARIS, OSLO], message("Both are mild."))
    messages = await use_tools(complete, [user("Paris and Oslo?")], tools=[WEATHER], parallel_tool_calls=True)
    assert messages[-1]["content"] == "Both are mild."
    assert answered(mock) == [1, 1]


async def test_text_beside_calls(mock, complete):
    mock.script([message("I look it up."), PARIS], message("It is mild."))
    messages = await use_tools(complete, [user("How is Paris?")], tools=[WEATHER])
    said = [message["content"] for message in messages if message["role"] == "assistant"]
    assert said == ["I look it up.", "It is mild."]


async def test_structured_completion(mock, complete):
    mock.script(message(FORECAST))
    result = await complete(messages=[user("How is Paris?")], response_format=Forecast)
    assert Forecast.model_validate_json(result.choices[0].message.content) == MILD


async def test_web_citation(mock, complete):
    note = url_citation("https://example.org/paris", "Paris", cite="mild")
    mock.script(message("Paris is mild.", annotations=[note]))
    result = await complete(messages=[user("How is Paris?")], web_search_options={})
    surfaced(result, mock.replies, only={"text", "annotations"})


async def test_replay(mock, complete):
    mock.script(PARIS, *map(message, ANSWERS))
    messages = []
    for question in QUESTIONS:
        messages = await use_tools(complete, [*messages, user(question)], tools=[WEATHER])
    said = tuple(message["content"] for message in messages if message["role"] == "assistant" and message["content"])
    assert (said, sizes(mock)) == (ANSWERS, [1, 3, 5, 7])


async def test_thoughts_of_a_completion(mock, think):
    mock.script([reasoning("**Looking**"), message("It is mild.")])
    result = await think(messages=[user("How is Paris?")], reasoning_effort={"effort": "low", "summary": "auto"})
    surfaced(result, mock.replies, only={"reasoning"})


async def test_thoughts_before_a_call(mock, think):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."))
    messages = await use_tools(think, [user("How is Paris?")], tools=[WEATHER])
    assert messages[-1]["content"] == "It is mild."


async def test_sealed_thoughts_before_a_call(mock, think):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."))
    messages = await use_tools(think, [user("How is Paris?")], tools=[WEATHER], **SEALED)
    assert messages[-1]["content"] == "It is mild."


async def test_usage_of_a_completion(mock, complete, request):
    mock.script(message("It is mild."))
    streamed = {"stream_options": {"include_usage": True}} if "streamed" in request.node.name else {}
    result = await complete(messages=[user("How is Paris?")], **streamed)
    surfaced(result, mock.replies, only={"usage"})
