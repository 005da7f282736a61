"""`litellm.completion` with `openai/responses/…`: chat completions that travel over the Responses API."""

from __future__ import annotations

import json

from pydantic import BaseModel

from harness import surfaced
from harness.items import function_call, message, reasoning, url_citation

QUESTIONS = ("How is Paris?", "And tomorrow?", "Thank you.")
ANSWERS = ("Paris is mild today.", "Tomorrow it will rain.", "You are welcome, any time.")
PARIS = function_call("get_weather", {"city": "Paris"})
OSLO = function_call("get_weather", {"city": "Oslo"})
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": CITY},
}


class Forecast(BaseModel):
    city: str
    degrees: int


def user(text):
    return {"role": "user", "content": text}


async def use_tools(complete, messages, **asked):
    """Ask until no tool is wanted; all messages."""
    while calls := (answer := (await complete(messages=messages, **asked)).choices[0].message).tool_calls:
        messages = [*messages, answer.model_dump()]
        for call in calls:
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"{city}: mild"})
    return [*messages, answer.model_dump()]


async def test_text_of_a_completion(mock, complete):
    mock.script(message(["It ", "is ", "mild."]))
    result = await complete(messages=[{"role": "system", "content": "Be short."}, user("How is Paris?")])
    assert result.choices[0].message.content == "It is mild."
    assert mock.exchanges[0].request.path == "/responses"
    surfaced(result, mock.said)


async def test_tools_one_after_the_other(mock, complete):
    mock.script(PARIS, OSLO, message("Both are mild."))
    messages = await use_tools(complete, [user("Paris and Oslo?")], tools=[WEATHER])
    assert messages[-1]["content"] == "Both are mild."


async def test_parallel_tools_of_a_completion(mock, complete):
    mock.script([PARIS, OSLO], message("Both are mild."))
    messages = await use_tools(complete, [user("Paris and Oslo?")], tools=[WEATHER], parallel_tool_calls=True)
    assert messages[-1]["content"] == "Both are mild."
    assert [call.answered for call in mock.calls] == [1, 1]


async def test_text_beside_calls(mock, complete):
    mock.script([message("I look it up."), PARIS], message("It is mild."))
    messages = await use_tools(complete, [user("How is Paris?")], tools=[WEATHER])
    assert [message["content"] for message in messages if message["role"] == "assistant"] == [
        "I look it up.",
        "It is mild.",
    ]


async def test_structured_completion(mock, complete):
    mock.script(message('{"city": "Paris", "degrees": 18}'))
    result = await complete(messages=[user("How is Paris?")], response_format=Forecast)
    assert Forecast.model_validate_json(result.choices[0].message.content) == Forecast(city="Paris", degrees=18)


async def test_web_citation(mock, complete):
    note = url_citation("https://example.org/paris", "Paris", cite="mild")
    mock.script(message("Paris is mild.", annotations=[note]))
    result = await complete(messages=[user("How is Paris?")], web_search_options={})
    surfaced(result, mock.said, only={"text", "annotations"})


async def test_replay(mock, complete):
    mock.script(PARIS, *map(message, ANSWERS))
    messages = []
    for question in QUESTIONS:
        messages = await use_tools(complete, [*messages, user(question)], tools=[WEATHER])
    said = tuple(message["content"] for message in messages if message["role"] == "assistant" and message["content"])
    sizes = [len(exchange.request.body["input"]) for exchange in mock.exchanges]
    assert (said, sizes) == (ANSWERS, [1, 3, 5, 7])


async def test_thoughts_of_a_completion(mock, complete):
    mock.script([reasoning("**Looking**"), message("It is mild.")])
    result = await complete(
        "openai/responses/gpt-5",
        messages=[user("How is Paris?")],
        reasoning_effort={"effort": "low", "summary": "auto"},
    )
    surfaced(result, mock.said, only={"reasoning"})


async def test_thoughts_before_a_call(mock, complete):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."))
    messages = await use_tools(
        lambda **asked: complete("openai/responses/gpt-5", **asked), [user("How is Paris?")], tools=[WEATHER]
    )
    assert messages[-1]["content"] == "It is mild."


async def test_sealed_thoughts_before_a_call(mock, complete):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."))
    sealed = {"store": False, "include": ["reasoning.encrypted_content"]}
    messages = await use_tools(
        lambda **asked: complete("openai/responses/gpt-5", **asked), [user("How is Paris?")], tools=[WEATHER], **sealed
    )
    assert messages[-1]["content"] == "It is mild."


async def test_usage_of_a_completion(mock, complete, request):
    mock.script(message("It is mild."))
    streamed = {"stream_options": {"include_usage": True}} if "streamed" in request.node.name else {}
    result = await complete(messages=[user("How is Paris?")], **streamed)
    surfaced(result, mock.said, only={"usage"})
