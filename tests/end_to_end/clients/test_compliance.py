"""A server as it starts by default, under plain prompts over HTTP and WebSocket, as public suites send them.

Nothing is scripted: what comes back must be what any implementation of the API gives, by the facts of the public
OpenResponses description, version 2.4.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from types import NoneType
from typing import Any, NamedTuple

import httpx2 as httpx
import pytest
from websockets.sync.client import connect

from tests.support.processes import spawn

Json = dict[str, Any]
NUMBER, INTEGER, TEXT = (int, float), (int,), (str,)
OR_NULL = (NoneType,)
MEMBERS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "object", "status", "model", "truncation", "service_tier"), TEXT),
    **dict.fromkeys(("previous_response_id", "instructions", "safety_identifier", "prompt_cache_key"), TEXT + OR_NULL),
    **dict.fromkeys(("top_p", "presence_penalty", "frequency_penalty", "temperature"), NUMBER),
    **dict.fromkeys(("created_at", "top_logprobs"), INTEGER),
    **dict.fromkeys(("completed_at", "max_output_tokens", "max_tool_calls"), INTEGER + OR_NULL),
    **dict.fromkeys(("parallel_tool_calls", "store", "background"), (bool,)),
    **dict.fromkeys(("incomplete_details", "error", "reasoning", "usage"), (dict, NoneType)),
    **dict.fromkeys(("text", "metadata"), (dict,)),
    **dict.fromkeys(("output", "tools"), (list,)),
    "tool_choice": (str, dict),
}
"""What every response has, and of which type."""
EVENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("response.created", "response.in_progress", "response.completed"), ("response",)),
    **dict.fromkeys(("response.output_item.added", "response.output_item.done"), ("output_index", "item")),
    **dict.fromkeys(
        ("response.content_part.added", "response.content_part.done"),
        ("item_id", "output_index", "content_index", "part"),
    ),
    "response.output_text.delta": ("item_id", "output_index", "content_index", "delta", "logprobs"),
    "response.output_text.done": ("item_id", "output_index", "content_index", "text", "logprobs"),
    "response.function_call_arguments.delta": ("item_id", "output_index", "delta"),
    "response.function_call_arguments.done": ("item_id", "output_index", "arguments"),
}
"""What the events of plain answers have, beside `type` and `sequence_number`."""
SAID = [
    *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
    *("content_part.done", "output_item.done", "completed"),
]
CALLED = [
    *("created", "in_progress", "output_item.added", "function_call_arguments.delta"),
    *("function_call_arguments.done", "output_item.done", "completed"),
]
"""The events of a message and of a call, those of a row as one."""
ENDS = ("response.completed", "response.failed", "response.incomplete", "error")


def whole(response: Any) -> Json:
    """Return a response that has every member."""
    assert {name for name, types in MEMBERS.items() if not isinstance(response.get(name, ...), types)} == set()
    assert response["object"] == "response"
    return dict(response)


def done(response: Any) -> Json:
    """Return one that has been completed, too."""
    whole(response)
    assert (response["status"], response["error"], response["incomplete_details"]) == ("completed", None, None)
    assert response["completed_at"] >= response["created_at"]
    usage = response["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert set(usage) >= {"input_tokens_details", "output_tokens_details"}
    assert response["output"]
    for item in response["output"]:
        assert {"id", "type", "status"} <= set(item)
    return dict(response)


def spoken(response: Any) -> str:
    """Return the text of a response that is one message."""
    (item,) = done(response)["output"]
    (part,) = item["content"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert (part["type"], part["annotations"], part["logprobs"]) == ("output_text", [], [])
    assert part["text"]
    return str(part["text"])


def calls(response: Any, name: str) -> None:
    """The response is one call of a tool, with what it requires."""
    (item,) = done(response)["output"]
    assert (item["type"], item["name"], item["status"]) == ("function_call", name, "completed")
    assert item["call_id"]
    tool = next(tool for tool in response["tools"] if tool["name"] == name)
    assert set(json.loads(item["arguments"])) >= set(tool["parameters"]["required"])


def final_response(events: list[Json]) -> Json:
    """Return the response that a stream ends with; its events have all that they must have, in order."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for event in events:
        assert set(event) >= {"type", *EVENTS[event["type"]]}
        if "response" in event:
            whole(event["response"])
    kinds = [kind.removeprefix("response.") for kind, _ in groupby(event["type"] for event in events)]
    response = dict(events[-1]["response"])
    assert kinds == (CALLED if response["output"][0]["type"] == "function_call" else SAID)
    return response


MODELS = ["gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5.2", "some-deployment"]
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
KEY = "sk-compliance"


def says(role: str, content: Any, **members: Any) -> Json:
    return {"type": "message", "role": role, "content": content, **members}


def user(content: Any) -> Json:
    return says("user", content)


PROMPTS: dict[str, Json] = {
    "a message": {"input": [user("Greet me in three words.")]},
    "a text": {"input": "Count to five."},
    "instructions": {"instructions": "Speak like a sailor.", "input": "Good morning."},
    "a system message": {"input": [says("system", "Speak like a sailor."), user("Good morning.")]},
    "a developer message": {"input": [says("developer", "Speak like a sailor."), user("Good morning.")]},
    "several turns": {"input": [user("I am Ada."), says("assistant", "Hello Ada."), user("Who am I?")]},
    "phases": {
        "input": [
            says("assistant", "I look it up.", phase="commentary"),
            says("assistant", "It is seven.", phase="final_answer"),
            user("The number again, alone."),
        ]
    },
    "an image": {
        "input": [user([{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PNG}])]
    },
    "an image elsewhere": {
        "input": [user([{"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}])]
    },
    "no tools": {"input": "Tell me a joke.", "tools": []},
    "a tool that is not demanded": {
        "input": "What's the weather in Rome?",
        "tools": [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}],
    },
    "everything": {
        "input": "Good morning.",
        "instructions": "Be brief.",
        "max_output_tokens": 200,
        "max_tool_calls": 3,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "service_tier": "default",
        "store": False,
        "truncation": "auto",
    },
}
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather at a place.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
ADD: Json = {
    "type": "function",
    "name": "add",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "strict": True,
}
CALLS: dict[str, tuple[str, Json]] = {
    "required": ("get_weather", {"input": "Good morning.", "tools": [WEATHER], "tool_choice": "required"}),
    "demanded": (
        "add",
        {"input": "Good morning.", "tools": [WEATHER, ADD], "tool_choice": {"type": "function", "name": "add"}},
    ),
}


class Server(NamedTuple):
    """A server, and a client that asks it."""

    url: str
    http: httpx.Client


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server started as a user starts it."""
    command = [sys.executable, "-m", "harness", "serve", "--port", "0"]
    with spawn(command, stderr=subprocess.DEVNULL) as process, httpx.Client(timeout=30, trust_env=False) as http:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield Server(found[0], http)


def post(server: Server, path: str, body: Json) -> httpx.Response:
    return server.http.post(f"{server.url}{path}", json=body, headers={"authorization": f"Bearer {KEY}"})


def streamed(server: Server, body: Json) -> Json:
    answer = post(server, "/responses", {**body, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in blocks]
    assert [name.removeprefix("event: ") for name, _ in blocks] == [event["type"] for event in events]
    return final_response(events)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prompt", PROMPTS)
class TestAPrompt:
    def test_a_prompt_is_answered(self, server: Server, prompt: str, model: str) -> None:
        answer = post(server, "/responses", {"model": model, **PROMPTS[prompt]})
        assert answer.status_code == 200, answer.text
        assert spoken(answer.json())

    @pytest.mark.slow
    def test_a_prompt_is_answered_in_a_stream(self, server: Server, prompt: str, model: str) -> None:
        assert spoken(streamed(server, {"model": model, **PROMPTS[prompt]}))


@pytest.mark.parametrize("call", CALLS)
class TestATool:
    def test_a_tool_is_called(self, server: Server, call: str) -> None:
        name, body = CALLS[call]
        calls(post(server, "/responses", {"model": "gpt-4.1", **body}).json(), name)

    def test_a_tool_is_called_in_a_stream_and_its_output_answered(self, server: Server, call: str) -> None:
        name, body = CALLS[call]
        response = streamed(server, {"model": "gpt-5", **body})
        calls(response, name)
        output = {"type": "function_call_output", "call_id": response["output"][0]["call_id"], "output": "5"}
        rest = {"model": "gpt-5", "tools": body["tools"], "previous_response_id": response["id"], "input": [output]}
        assert spoken(post(server, "/responses", rest).json())


def test_a_socket_goes_on_with_what_is_not_stored(server: Server) -> None:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    url = f"{server.url.replace('http', 'ws', 1)}/responses"
    first, second = {"input": "The word is teal."}, {"input": "Which word?"}
    with connect(url, additional_headers=headers, proxy=None) as wire:
        for body in (first, second):
            wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "store": False, **body}))
            events = [json.loads(wire.recv(10))]
            while events[-1]["type"] not in ENDS:
                events.append(json.loads(wire.recv(10)))
            response = final_response(events)
            assert spoken(response)
            assert response["previous_response_id"] == body.get("previous_response_id")
            second["previous_response_id"] = response["id"]
