"""Fixtures of aimock: its own server and the converted script say the same, but for what the API refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.core.exchange import Json
from harness.world.mock import Mock
from harness.world.scripting.document import parse_document
from tests.clients.cells import Environment
from tests.clients.environments import prepared
from tests.support.in_process import user
from tests.support.processes import free_port, spawn
from tests.support.tools import functions
from tools.aimock.script import import_fixtures

pytestmark = pytest.mark.slow
NPM = ("@copilotkit/aimock@1.43.0",)
FIXTURES: list[Json] = [
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "Rainy."}},
    {
        "match": {"userMessage": "weather"},
        "response": {"toolCalls": [{"name": "f", "arguments": {"x": 1}, "id": "call_1"}]},
    },
    {"match": {"toolCallId": "call_9"}, "response": {"content": "Of nobody's call."}},
    *(
        {"match": {"userMessage": "joke", **place}, "response": {"content": text}}
        for text, place in (("A", {"sequenceIndex": 0}), ("B", {"sequenceIndex": 1}), ("C", {}))
    ),
    {"match": {"model": "gpt-4.1", "userMessage": "who"}, "response": {"content": "4.1"}},
    {"match": {"systemMessage": ["Ann", "Oslo"]}, "response": {"content": "Ann of Oslo"}},
    {"match": {"userMessage": "ops"}, "response": {"content": "small"}},
    {"match": {"userMessage": "Ops"}, "response": {"content": "large"}},
    {
        "match": {"userMessage": "both"},
        "response": {"content": "Wait.", "toolCalls": [{"name": "f", "arguments": '{"x": 2}'}]},
    },
    {
        "match": {"userMessage": "limit"},
        "response": {"error": {"message": "Slow down.", "code": "slow"}, "status": 429},
    },
    {"match": {"userMessage": "long"}, "response": {"content": "Once", "finishReason": "length"}},
    {"match": {}, "response": {"content": "Else."}},
]
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}

SAID = {"role": "assistant", "content": "Rainy."}


REQUESTS: list[Json] = [
    {"input": "The weather?", "tools": functions("f")},
    {"input": [user("The weather?"), CALL, OUTPUT], "tools": functions("f")},
    {"input": [user("The weather?"), CALL, OUTPUT, SAID, user("And the weather now?")], "tools": functions("f")},
    *({"input": "joke"} for _ in range(4)),
    {"input": "who"},
    {"input": "who", "model": "gpt-4.1-2025-04-14"},
    {"input": "who", "model": "gpt-4.1-mini"},
    {"input": "x", "instructions": "You are in Oslo, Ann."},
    {"input": [{"role": "developer", "content": "Ann"}, user("x")], "instructions": "Oslo"},
    {"input": "Ops"},
    {"input": "ops"},
    {"input": "both", "tools": functions("f")},
    {"input": "limit"},
    {"input": "long"},
    {"input": "x"},
]


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    file = tmp_path / "fixtures.json"
    file.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    return file


@pytest.fixture
def aimock(fixtures: Path) -> Iterator[str]:
    """The base URL of aimock with these fixtures."""
    program, port = prepared(Environment("aimock", npm=NPM)) / "node_modules/.bin/llmock", free_port()
    with spawn([program, "-f", fixtures, "-p", str(port)]) as server:
        assert server.stdout
        assert any("listening" in line for line in server.stdout)
        yield f"http://127.0.0.1:{port}/v1"


def ask(base_url: str, key: str, request: Json) -> Any:
    """Return what an answer says: its status with its items, without ids that are made up; or its error."""
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx2.post(f"{base_url}/responses", json={"model": "gpt-4.1", **request}, headers=headers)
    body = answer.json()
    if answer.status_code != 200:
        return answer.status_code, body["error"]["message"], body["error"]["code"]
    return body["status"], [
        (item["name"], item["arguments"], item["call_id"] == "call_1")
        if item["type"] == "function_call"
        else [part["text"] for part in item["content"]]
        for item in body["output"]
    ]


@pytest.mark.harness(refusals=["output_needs_call"], unused="allow")
def test_the_script_says_what_aimock_says(aimock: str, fixtures: Path, mock: Mock) -> None:
    script = import_fixtures([fixtures])
    assert (script.left_out, script.dropped) == ([], [])
    parse_document(script.document).apply(mock)
    told = [ask(aimock, "sk-any", request) for request in REQUESTS]
    assert [ask(mock.base_url, mock.api_key, request) for request in REQUESTS] == told
    assert len({json.dumps(answer) for answer in told}) == 13

    forgotten = {"input": [user("x"), {**OUTPUT, "call_id": "call_9"}]}
    assert ask(aimock, "sk-any", forgotten) == ("completed", [["Of nobody's call."]])
    assert ask(mock.base_url, mock.api_key, forgotten)[:2] == (
        400,
        "No tool call found for function call output with call_id call_9.",
    )
