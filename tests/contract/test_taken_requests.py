"""Requests that the API took, null, base64 in lines, what clients add: none is refused; and what it refused beside them."""

from typing import Any

import pytest

from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rules.request.input_items.images import PNG
from harness.items import computer_call, function_call, reasoning
from harness.world.world import World, WorldOptions
from tests.support.checked import request
from tests.support.in_process import Client
from tests.support.tools import CALL, OUTPUT
from tests.support.wired import wire

HI = {"role": "user", "content": "hi"}
NO_STATUS = {"status": None, "id": None}
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
TEXT = {"type": "output_text", "text": "x", "annotations": []}
THOUGHT = {"type": "reasoning", "summary": []}
UPDATE = {"type": "configuration_update"}
MCP = {"type": "mcp", "server_label": "a", "server_url": "https://mcp.example.org/sse"}
FORMAT = {"type": "json_schema", "name": "out", "schema": {"type": "object"}}
NAMESPACE = {"type": "namespace", "name": "n" * 64, "description": "d", "tools": [TOOL]}


def said(*parts: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [*parts]}]}


def refusal(
    body: dict[str, Any], path: str = "/responses", schema: str = "CreateResponse", as_of: str = ""
) -> tuple[str, str] | None:
    """Return the rule that refuses a request, and the param that it names."""
    sent = request({"model": "gpt-5.4", **body})._replace(path=path, operation=f"POST {path}", schema=schema)
    found = check(WorldCall(sent, World(options=WorldOptions(as_of=as_of)) if as_of else World())).violation
    return (found.rule.id, str(found.error.param)) if found else None


@pytest.mark.parametrize(("call_id", "rule"), [("call_1", None), ("call_2", "reasoning_without_follower")])
def test_reasoning_is_followed_by_the_very_call_that_it_led_to(call_id: str, rule: str | None) -> None:
    client = Client()
    client.mock.script([reasoning("**Plan**"), function_call("f", call_id="call_1")], "Done.")
    thought, _ = client.ask(tools=[TOOL]).body["output"]
    assert client.ask([thought, {**CALL, "call_id": call_id}, {**OUTPUT, "call_id": call_id}]).rule == rule


TOO_LONG = "x" * 1_048_577
CALLS = [
    {"type": "file_search_call", "id": "fs_1", "queries": []},
    {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x", "queries": None}},
    {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "cntr_1", "outputs": None},
    {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "error": None},
    {"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "n", "server_label": "s"},
]

SCREENSHOT_CALL = [HI, wire(computer_call({"type": "screenshot"}, call_id="call_1"))]
COMPUTER = {"type": "computer"}
SCREENSHOT = {"type": "computer_call_output", "call_id": "call_1"}
SCREENSHOTS = [
    {"type": "computer_screenshot", "image_url": PNG, "detail": "original"},
    {"type": "input_image", "image_url": PNG, "current_url": "https://example.org"},
]


@pytest.mark.parametrize(
    "body",
    [
        {"client_metadata": {"x-codex-installation-id": "1"}},
        {"client_metadata": None},
        {"input": [HI, {**CALL, **NO_STATUS, "namespace": None}, {**OUTPUT, **NO_STATUS}]},
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
        {"tools": [COMPUTER], "tool_choice": COMPUTER},
        {"tools": [COMPUTER], "tool_choice": {"type": "computer_use"}},
        {"tools": [COMPUTER], "tool_choice": {"type": "computer_use_preview"}},
        *({"input": [*SCREENSHOT_CALL, {**SCREENSHOT, "output": output}]} for output in SCREENSHOTS),
        {"model": "gpt-5", "temperature": 1, "top_p": 1, "frequency_penalty": 0},
        {"model": "gpt-5.2", "top_p": 0.98, "reasoning": {"effort": "low"}},
        {"model": "gpt-5-nano", "max_output_tokens": 300_000},
        said({"type": "input_image", "detail": None, "image_url": f"{PNG[:62]}\r\n{PNG[62:]}"}),
        said({"type": "input_file", "file_id": None, "filename": None, "file_url": "https://example.org/a.pdf"}),
        {"input": [{"role": "user", "content": ""}]},
        {"input": [HI, {**CALL, "arguments": TOO_LONG[1:]}, OUTPUT]},
        {"temperature": None, "user": None},
        {"reasoning": {"mode": "standard", "effort": None, "summary": None, "context": None}},
        {"model": "gpt-6-astra", "input": [HI, {**UPDATE, "reasoning": {"effort": "low"}}]},
        {"tools": [{**TOOL, "parameters": {}}]},
        {"tools": [{**TOOL, "parameters": None}]},
        {"tools": [NAMESPACE]},
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
        ({"input": [HI, {**THOUGHT, "status": None}]}, "unknown_parameter", "input[1].status"),
        ({"input": [HI, {**THOUGHT, "status": "completed"}]}, "unknown_parameter", "input[1].status"),
        ({"input": [HI, {**UPDATE, "reasoning": {}}]}, "missing_required_parameter", "input[1].reasoning.effort"),
        ({"input": [HI, {**UPDATE, "reasoning": {"effort": None}}]}, "invalid_type", "input[1].reasoning.effort"),
        ({"input": [HI, {**OUTPUT, "output": None}]}, "invalid_type", "input[1].output"),
        ({"client_metadata": {"a": 1}}, "invalid_type", "client_metadata.a"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": ""}}, "empty_string", "tool_choice.name"),
        ({"tools": [{**TOOL, "parameters": {}, "strict": True}]}, "function_schema", "tools[0].parameters"),
        ({"tools": [{**TOOL, "parameters": None, "strict": True}]}, "function_schema", "tools[0].parameters"),
        ({"input": [HI, {**CALL, "arguments": TOO_LONG}, OUTPUT]}, "string_above_max_length", "input[1].arguments"),
        ({"tools": [{**MCP, "server_url": "http://[::1]:8000/mcp"}]}, "mcp_loopback", "tools[0].server_url"),
        ({"tools": [{**NAMESPACE, "name": "n" * 65}]}, "string_above_max_length", "tools[0].name"),
        ({"tools": [{**NAMESPACE, "name": "memories/"}]}, "string_pattern", "tools[0].name"),
        ({"model": "gpt-4o", "service_tier": "ultrafast"}, "tier_unsupported", "service_tier"),
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
    found = refusal({"model": "gpt-5.6-sol", "tools": [namespace]})
    assert found in (None, ("function_schema", "tools[0].tools[0].parameters"))
