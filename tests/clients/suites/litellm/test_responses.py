"""`litellm.responses` and `litellm.aresponses`: every kind of item, what is replayed, what is stored."""

import litellm
import pytest
from story import FORECAST, MILD, OSLO, PARIS, REMOTE, SEALED, WEATHER, Forecast, answered

from harness import surfaced
from harness.items import (
    code_interpreter_call,
    file_search_call,
    image_generation_call,
    message,
    reasoning,
    search,
    web_search_call,
)

STORAGE = pytest.mark.parametrize("storage", [{}, SEALED], ids=["stored", "unstored"])


def user(text):
    return {"type": "message", "role": "user", "content": text}


def called(response):
    """Return the items of a response as they are sent back, then the outputs of its calls."""
    items = [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in response.output]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    return items, [{"type": "function_call_output", "call_id": id, "output": "mild"} for id in calls]


async def test_text(mock, respond):
    mock.script(message(["It ", "is ", "mild."]))
    response = await respond(input="How is Paris?", instructions="Be short.")
    surfaced(response, mock.replies)
    assert response.output[0].content[0].text == "It is mild."


async def test_events(mock):
    mock.script(message(["It ", "is ", "mild."]))
    stream = await litellm.aresponses(model="openai/gpt-4.1", input="How is Paris?", stream=True)
    events = [event async for event in stream]
    surfaced(events, mock.replies)
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert deltas == ["It ", "is ", "mild."]


async def test_parallel_tools(mock, respond):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    first = await respond(input="Paris and Oslo?", tools=[WEATHER])
    surfaced(first, mock.replies)
    items, outputs = called(first)
    second = await respond(input=[user("Paris and Oslo?"), *items, *outputs], tools=[WEATHER])
    assert answered(mock) == [1, 1]
    surfaced(second, mock.replies)


async def test_structured_output(mock, respond):
    mock.script(message(FORECAST))
    response = await respond(input="How is Paris?", text_format=Forecast)
    assert Forecast.model_validate_json(response.output[0].content[0].text) == MILD


@STORAGE
async def test_reasoning_is_replayed(mock, respond, storage):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."))
    asked = {"model": "openai/gpt-5", "tools": [WEATHER], **storage}
    first = await respond(input=[user("How is Paris?")], **asked)
    items, outputs = called(first)
    second = await respond(input=[user("How is Paris?"), *items, *outputs], **asked)
    surfaced(second, mock.replies)


@STORAGE
async def test_tools_of_the_api(mock, respond, storage, shipped):
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    tools = [
        {"type": "web_search"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "file_search", "vector_store_ids": [store]},
        {"type": "image_generation"},
        {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org", "require_approval": "never"},
    ]
    calls = [
        web_search_call(search("weather paris")),
        code_interpreter_call("print(6*7)"),
        file_search_call("storage"),
        image_generation_call(),
        REMOTE,
    ]
    mock.script([*calls, message("All is done.")], message("You are welcome."))
    asked = {"model": "openai/gpt-5", "tools": tools, **storage}
    first = await respond(input=[user("Do it all.")], **asked)
    surfaced(first, mock.replies)
    second = await respond(input=[user("Do it all."), *called(first)[0], user("Thank you.")], **asked)
    surfaced(second, mock.replies)


async def test_usage(mock, respond):
    mock.script([reasoning("**Looking**"), message("It is mild.")])
    surfaced(await respond(model="openai/gpt-5", input="How is Paris?"), mock.replies, only={"usage"})


def test_stored_response(mock):
    mock.script(message("It is mild."))
    made = litellm.responses(model="openai/gpt-4.1", input="How is Paris?")
    assert litellm.get_responses(made.id).output[0].content[0].text == "It is mild."
    (asked,) = litellm.list_input_items(made.id)["data"]
    assert asked["content"][0]["text"] == "How is Paris?"
    assert litellm.delete_responses(made.id).deleted


async def test_background(mock):
    mock.script(message("It is mild."))
    made = await litellm.aresponses(model="openai/gpt-4.1", input="How is Paris?", background=True)
    while made.status in ("queued", "in_progress"):
        made = await litellm.aget_responses(made.id)
    assert (made.status, made.output[0].content[0].text) == ("completed", "It is mild.")
