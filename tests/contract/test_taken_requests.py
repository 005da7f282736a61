"""Requests that the API took, null, base64 in lines, what clients add: none is refused; and what it refused beside them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.contract.check import check
from harness.world.options import WorldOptions
from harness.world.world import World
from tests.support.checked import request

HI = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
TEXT = {"type": "output_text", "text": "x", "annotations": []}
THOUGHT = {"type": "reasoning", "summary": []}
UPDATE = {"type": "configuration_update"}
MCP = {"type": "mcp", "server_label": "a", "server_url": "https://mcp.example.org/sse"}
FORMAT = {"type": "json_schema", "name": "out", "schema": {"type": "object"}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="


def said(*parts: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [*parts]}]}


def refusal(
    body: dict[str, Any], path: str = "/responses", schema: str = "CreateResponse", as_of: str = ""
) -> tuple[str, str] | None:
    """Return the rule that refuses a request, and the param that it names."""
    sent = request({"model": "gpt-5.4", **body})._replace(path=path, operation=f"POST {path}", schema=schema)
    found = check(sent, World(options=WorldOptions(as_of=as_of)) if as_of else World())
    return (found.rule.id, str(found.error.param)) if found else None


CALLS = [
    {"type": "file_search_call", "id": "fs_1", "queries": []},
    {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x", "queries": None}},
    {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "cntr_1", "outputs": None},
    {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "error": None},
    {"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "n", "server_label": "s"},
]

SCREENSHOT_CALL = [
    HI,
    {
        "type": "computer_call",
        "call_id": "call_1",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        "id": "cu_1",
        "status": "completed",
    },
]
SCREENSHOT = {"type": "computer_call_output", "call_id": "call_1"}
SCREENSHOTS = [
    {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}", "detail": "original"},
    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "current_url": "https://example.org"},
]


@pytest.mark.parametrize(
    "body",
    [
        {"client_metadata": {"x-codex-installation-id": "1"}},
        {"client_metadata": None},
        {
            "input": [
                HI,
                {**CALL, "status": None, "id": None, "namespace": None},
                {**OUTPUT, "status": None, "id": None},
            ]
        },
        *({"input": [HI, {**call, "status": None}]} for call in CALLS),
        {"input": [HI, {**THOUGHT, "content": None}]},
        {"metadata": {"k": None}},
        {"stream": True, "stream_options": {"include_obfuscation": None}},
        {"text": {"format": None}},
        {"tools": [{**TOOL, "strict": None, "defer_loading": None}]},
        {"tools": [{**TOOL, "name": "f" * 65}]},
        {"tools": [{"type": "web_search", "search_context_size": None, "filters": None}]},
        {"background": True, "store": False},
        {"input": [{"role": "assistant", "content": [{**TEXT, "logprobs": None}]}, HI]},
        {"tools": [{**MCP, "require_approval": {"always": {"tool_names": ["a"]}, "never": None}}]},
        *(
            {"tools": [{"type": "computer"}], "tool_choice": {"type": type}}
            for type in ("computer", "computer_use", "computer_use_preview")
        ),
        *({"input": [*SCREENSHOT_CALL, {**SCREENSHOT, "output": output}]} for output in SCREENSHOTS),
        {"model": "gpt-5", "temperature": 1, "top_p": 1, "frequency_penalty": 0},
        {"model": "gpt-5.2", "top_p": 0.98, "reasoning": {"effort": "low"}},
        {"model": "gpt-5-nano", "max_output_tokens": 300_000},
        said({"type": "input_image", "detail": None, "image_url": f"data:image/png;base64,{PNG[:40]}\r\n{PNG[40:]}"}),
        said({"type": "input_file", "file_id": None, "filename": None, "file_url": "https://example.org/a.pdf"}),
        {"input": [{"role": "user", "content": ""}]},
        {"input": [HI, {**CALL, "arguments": "x" * 1_048_576}, OUTPUT]},
        {"temperature": None, "user": None},
        {"reasoning": {"mode": "standard", "effort": None, "summary": None, "context": None}},
        {"input": [HI, {**UPDATE, "reasoning": {"effort": "low"}}]},
        {"tools": [{**TOOL, "parameters": {}}]},
        {"tools": [{**TOOL, "parameters": None}]},
        {"model": "gpt-5.3-codex", "tools": [{"type": "tool_search"}, {**TOOL, "defer_loading": True}]},
    ],
)
def test_the_api_takes(body: dict[str, Any]) -> None:
    assert refusal(body) is None


@pytest.mark.parametrize(
    ("body", "rule", "param"),
    [
        ({"seed": None}, "unknown_parameter", "seed"),
        ({"reasoning": {"effort": "none", "mode": None}}, "invalid_type", "reasoning.mode"),
        *(
            ({"input": [HI, {**THOUGHT, "status": status}]}, "unknown_parameter", "input[1].status")
            for status in (None, "completed")
        ),
        ({"input": [HI, {**UPDATE, "reasoning": {}}]}, "missing_required_parameter", "input[1].reasoning.effort"),
        ({"input": [HI, {**UPDATE, "reasoning": {"effort": None}}]}, "invalid_type", "input[1].reasoning.effort"),
        ({"input": [HI, {**OUTPUT, "output": None}]}, "invalid_type", "input[1].output"),
        ({"client_metadata": {"a": 1}}, "invalid_type", "client_metadata.a"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": ""}}, "empty_string", "tool_choice.name"),
        ({"tools": [{**TOOL, "parameters": {}, "strict": True}]}, "function_schema", "tools[0].parameters"),
        ({"tools": [{**TOOL, "parameters": None, "strict": True}]}, "function_schema", "tools[0].parameters"),
        (
            {"input": [HI, {**CALL, "arguments": "x" * 1_048_577}, OUTPUT]},
            "string_above_max_length",
            "input[1].arguments",
        ),
        ({"tools": [{**MCP, "server_url": "http://[::1]:8000/mcp"}]}, "mcp_loopback", "tools[0].server_url"),
    ],
)
def test_the_api_refuses(body: dict[str, Any], rule: str, param: str) -> None:
    assert refusal(body) == (rule, param)


def test_texts_that_were_parsed_can_be_counted_with_their_null() -> None:
    parsed = {"input": [{"role": "assistant", "content": [{**TEXT, "parsed": None}]}]}
    assert refusal(parsed, "/responses/input_tokens", "InputTokenCount") is None
    assert refusal(parsed) == ("unknown_parameter", "input[0].content[0].parsed")


@pytest.mark.parametrize(
    ("body", "at", "last"),
    [
        ({"reasoning": {"generate_summary": "concise"}}, "reasoning.generate_summary", "2026-07-31"),
        ({"tools": [{**TOOL, "zz": 1}]}, "tools[0].zz", "2026-08-21"),
        ({"text": {"format": {**FORMAT, "zz": 1}}}, "text.format.zz", "2026-08-21"),
    ],
)
def test_what_the_api_took_once_has_a_last_day(body: dict[str, Any], at: str, last: str) -> None:
    assert refusal(body, as_of=last) is None
    assert refusal(body, as_of="2026-10-07") == ("unknown_parameter", at)


@pytest.mark.parametrize("parameters", [True, [], "x", {"properties": True}, {"properties": {"message": 1}}])
def test_no_rule_fails_on_a_schema_of_a_reserved_function_that_is_any_json(parameters: Any) -> None:
    function = {"type": "function", "name": "spawn_agent", "parameters": parameters, "strict": False}
    namespace = {"type": "namespace", "name": "collaboration", "description": "d", "tools": [function]}
    assert refusal({"model": "gpt-5.6-sol", "tools": [namespace]}) is None
