"""Requests that the API refused and that a lenient schema takes: empty names, schemas and texts, arguments without end."""

from __future__ import annotations

from typing import Any

import pytest

from harness.contract.check import check
from harness.core.exchange import Request
from harness.world.world import World

HI = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "name": "f"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
FILE = {"type": "input_file", "filename": "a.pdf"}


def refused(body: dict[str, Any]) -> str | None:
    headers, whole = {"authorization": "Bearer sk-contract"}, {"model": "gpt-4.1", "input": "hi", **body}
    sent = Request("POST", "/responses", headers, {}, whole, operation="POST /responses", schema="CreateResponse")
    found = check(sent, World())
    return found.rule.id if found else None


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"input": ""}, "input_empty"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": ""}}, "empty_string"),
        ({"tools": [{**TOOL, "parameters": {}, "strict": True}]}, "function_schema"),
        ({"tools": [{**TOOL, "parameters": None, "strict": True}]}, "function_schema"),
        ({"text": {"format": {"type": "json_schema", "name": "out", "schema": {}}}}, "response_schema"),
        ({"input": [HI, {**CALL, "arguments": "x" * 1_048_577}, OUTPUT]}, "string_above_max_length"),
        ({"input": [{"role": "user", "content": [{**FILE, "file_data": "JVBERi0xLjQ="}]}]}, "file_data_prefix"),
        (
            {
                "input": [
                    {"role": "user", "content": [{**FILE, "file_data": "data:application/pdf;base64,https://x.org/"}]}
                ]
            },
            "file_data_base64",
        ),
        ({"tools": [{"type": "mcp", "server_label": "a", "server_url": "http://[::1]:8000/mcp"}]}, "mcp_loopback"),
    ],
)
def test_what_is_empty_endless_or_out_of_reach_is_refused(body: dict[str, Any], rule: str) -> None:
    assert refused(body) == rule


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{**TOOL, "parameters": {}}]},
        {"tools": [{**TOOL, "parameters": {}, "strict": False}]},
        {"tools": [{**TOOL, "parameters": None}]},
        {"input": [HI, {**CALL, "arguments": "x" * 1_048_576}, OUTPUT]},
        {"input": [{"role": "user", "content": ""}]},
    ],
)
def test_what_is_nearly_so_is_taken(body: dict[str, Any]) -> None:
    assert refused(body) is None
