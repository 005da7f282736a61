"""A server as it starts by default, under plain prompts over HTTP and WebSocket, as public suites send them.

Nothing is scripted: what comes back must be what any implementation of the API gives.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx2 as httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.end_to_end.clients.compliance import ENDS, Json, calls, final_response, spoken, whole
from tests.support.processes import spawn

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


@pytest.mark.parametrize("strict", [True, False])
def test_a_schema_is_preserved(server: Server, strict: bool) -> None:
    wanted = {"type": "json_schema", "name": "sum", "schema": ADD["parameters"], "strict": strict}
    answer = post(server, "/responses", {"model": "gpt-4.1", "input": "2 + 3?", "text": {"format": wanted}})
    assert set(json.loads(spoken(answer.json()))) == {"a", "b"}


HISTORY = [user("We start on Monday."), says("assistant", [{"type": "output_text", "text": "Noted."}])]


class TestCompaction:
    def test_gives_what_a_new_response_begins_with(self, server: Server) -> None:
        answer = post(server, "/responses/compact", {"model": "gpt-4.1", "input": HISTORY, "prompt_cache_key": "k"})
        compacted = answer.json()
        assert (answer.status_code, compacted["object"]) == (200, "response.compaction")
        assert set(compacted) >= {"id", "created_at", "usage"}
        assert compacted["output"][-1]["type"] == "compaction"
        assert compacted["output"][-1]["encrypted_content"]
        body = {"model": "gpt-4.1", "input": [*compacted["output"], user("When?")]}
        assert spoken(post(server, "/responses", body).json())

    def test_compaction_needs_a_model(self, server: Server) -> None:
        answer = post(server, "/responses/compact", {"input": HISTORY})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")


Step = Json | Callable[[str], Json]


def connected(server: Server) -> ClientConnection:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    return connect(f"{server.url.replace('http', 'ws', 1)}/responses", additional_headers=headers, proxy=None)


def events_of(wire: ClientConnection, body: Json) -> list[Json]:
    """Return all events of the answer to a request, the last of which ends it."""
    wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", **body}))
    events = [json.loads(wire.recv(10))]
    while events[-1]["type"] not in ENDS:
        events.append(json.loads(wire.recv(10)))
    return events


def talk(server: Server, *steps: Step) -> list[Json]:
    """The last event of each answer on one connection; a step may be a function of the id of the first response."""
    ends: list[Json] = []
    with connected(server) as wire:
        for step in steps:
            events = events_of(wire, step(ends[0]["response"]["id"]) if callable(step) else step)
            ends.append(events[-1])
            if events[-1]["type"] != "error":
                spoken(final_response(events))
    return ends


def unstored(input: Any, **members: Any) -> Json:
    return {"store": False, "input": input, **members}


def after(input: Any) -> Callable[[str], Json]:
    """Return what goes on with the first response, without being stored."""
    return lambda id: unstored(input, previous_response_id=id)


def codes(ends: list[Json]) -> list[str | None]:
    """By answer: None when it was completed, else the code of the error."""
    return [end["error"]["code"] or "error" if end["type"] == "error" else None for end in ends]


MISSING = "previous_response_not_found"


class TestASocket:
    def test_a_socket_answers(self, server: Server) -> None:
        assert codes(talk(server, {"input": [user("Count to three.")]})) == [None]

    def test_a_socket_answers_one_after_the_other(self, server: Server) -> None:
        first, second = talk(server, unstored("One."), unstored("Two."))
        assert first["response"]["id"] != second["response"]["id"]

    def test_a_socket_goes_on_with_what_is_not_stored(self, server: Server) -> None:
        first, second = talk(server, unstored("The word is teal."), after("Which word?"))
        assert second["response"]["previous_response_id"] == first["response"]["id"]

    def test_a_socket_does_not_know_what_another_has_not_stored(self, server: Server) -> None:
        ((first),) = talk(server, unstored("The word is teal."))
        lost = unstored("Which word?", previous_response_id=first["response"]["id"])
        assert codes(talk(server, lost, unstored([user("Begin anew.")]))) == [MISSING, None]

    def test_a_socket_names_a_response_that_never_was(self, server: Server) -> None:
        (end,) = talk(server, unstored("Go on.", previous_response_id="resp_never_was"))
        assert (end["status"], end["error"]["code"], end["error"]["param"]) == (400, MISSING, "previous_response_id")

    def test_forgets_what_it_failed_to_go_on_with(self, server: Server) -> None:
        output = {"type": "function_call_output", "call_id": "call_never_was", "output": "5"}
        assert codes(talk(server, unstored("A."), after([output]), after("B."))) == [None, "error", MISSING]

    def test_a_socket_begins_with_what_was_compacted(self, server: Server) -> None:
        compacted = post(server, "/responses/compact", {"model": "gpt-4.1", "input": HISTORY}).json()
        assert codes(talk(server, unstored([*compacted["output"], user("Go on.")], tools=[]))) == [None]

    @pytest.mark.slow
    def test_a_socket_is_warmed_up_without_an_answer(self, server: Server) -> None:
        with connected(server) as wire:
            responses = [whole(event["response"]) for event in events_of(wire, unstored("hi", generate=False))]
        assert responses[-1]["output"] == []
