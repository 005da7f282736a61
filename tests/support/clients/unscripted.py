"""Requests to a model without a script, each answer of which is checked."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.answers.turn_problem import find_turn_problem
from harness.contract.check import check_answer
from harness.core.exchange import Answer, Json
from harness.ending import DEFAULT_ENDING
from harness.items.kind import item_from_wire
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.support.in_process import post

KEY = "sk-model"
MODEL = "gpt-5.4"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}
DEFERRED = {**WEATHER, "name": "get_rate", "defer_loading": True}
SQL = {"type": "custom", "name": "run_sql"}
SPACE = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [WEATHER]}
DEFERRED_SPACE = {**SPACE, "tools": [{**WEATHER, "defer_loading": True}]}
SEARCH = {"type": "tool_search"}
MCP = {"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"}
FREE_MCP = {**MCP, "require_approval": "never"}
CLIENT_SEARCH = {
    **SEARCH,
    "execution": "client",
    "description": "Finds tools.",
    "parameters": {"type": "object", "properties": {"goal": {"type": "string"}}, "required": ["goal"]},
}
CONTAINER_SHELL = {"type": "shell", "environment": {"type": "container_auto"}}


class Conversation:
    """Requests of one key to a model without a script; each answer is checked."""

    def __init__(self, **members: Any) -> None:
        self.api = MockApi(fallback=small_talk)
        self.members = {"model": MODEL, **members}

    def ask(self, input: Any, **members: Any) -> Answer:
        """Return the answer to a request, which conforms and which a model could have said."""
        body = {**self.members, **members, "input": input}
        answer = post(self.api, body, key=KEY)
        assert answer.status == 200, answer.body
        assert check_answer("Response", answer.body) is None
        assert [found for event in answer.events or () if (found := check_answer("ResponseStreamEvent", event))] == []
        said = [item_from_wire(item) for item in answer.body["output"]]
        read = self.api.open(KEY).world.store.transcript
        assert find_turn_problem(body, said, DEFAULT_ENDING, lambda: read(body).items) == ""
        return answer

    def types(self, input: Any = "hi", **members: Any) -> list[str]:
        """Return the types of the items of an answer."""
        return [item["type"] for item in self.ask(input, **members).body["output"]]


OUTPUTS: Mapping[str, Json] = {
    "function_call": {"type": "function_call_output", "output": "18"},
    "custom_tool_call": {"type": "custom_tool_call_output", "output": "18"},
    "shell_call": {
        "type": "shell_call_output",
        "output": [{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "ok", "stderr": ""}],
    },
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "completed"},
    "computer_call": {
        "type": "computer_call_output",
        "output": {"type": "computer_screenshot", "image_url": "https://example.com/a.png"},
    },
    "tool_search_call": {"type": "tool_search_output", "execution": "client", "tools": [DEFERRED]},
}
"""What a client answers to a call."""


def results_of(output: Sequence[Json]) -> list[Json]:
    """Return what a client sends after an output: the results of its calls, approvals, or what the user says next."""
    answered = {item.get("call_id") for item in output if item["type"].endswith("_output")}
    results = [
        {**OUTPUTS[item["type"]], "call_id": item["call_id"]}
        for item in output
        if item["type"] in OUTPUTS and item.get("call_id") and item["call_id"] not in answered
    ]
    approvals = [
        {"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": True}
        for item in output
        if item["type"] == "mcp_approval_request"
    ]
    return [*results, *approvals] or [{"role": "user", "content": "Go on."}]


def model_for(tools: Sequence[Json]) -> str:
    """Return a model that has these tools."""
    newest = {"computer", "custom", "programmatic_tool_calling"}
    return "gpt-5.6-sol" if newest & {tool["type"] for tool in tools} else MODEL


CASES: Sequence[tuple[list[Json], Any, list[str]]] = [
    ([WEATHER], "required", ["function_call"]),
    ([SQL], {"type": "custom", "name": "run_sql"}, ["custom_tool_call"]),
    ([SPACE], "required", ["function_call"]),
    ([SPACE], {"type": "function", "name": "get_weather"}, ["function_call"]),
    ([DEFERRED, SEARCH], "required", ["tool_search_call", "tool_search_output", "function_call"]),
    ([DEFERRED_SPACE, SEARCH], "required", ["tool_search_call", "tool_search_output", "function_call"]),
    ([DEFERRED, CLIENT_SEARCH], "required", ["tool_search_call"]),
    ([{"type": "web_search"}], "required", ["web_search_call", "message"]),
    ([{"type": "web_search"}], {"type": "web_search_preview"}, ["web_search_call", "message"]),
    ([{"type": "web_search"}, WEATHER], {"type": "web_search_preview"}, ["web_search_call", "message"]),
    ([{"type": "image_generation", "partial_images": 2}], "required", ["image_generation_call", "message"]),
    (
        [{"type": "code_interpreter", "container": {"type": "auto"}}],
        {"type": "code_interpreter"},
        ["code_interpreter_call", "message"],
    ),
    ([{"type": "apply_patch"}], "required", ["apply_patch_call"]),
    ([{"type": "apply_patch"}, WEATHER], {"type": "apply_patch"}, ["apply_patch_call"]),
    ([{"type": "shell"}], {"type": "shell"}, ["shell_call"]),
    ([{"type": "computer"}], {"type": "computer"}, ["computer_call"]),
    ([MCP], "required", ["mcp_list_tools", "mcp_approval_request"]),
    ([FREE_MCP], {"type": "mcp", "server_label": "docs", "name": "find"}, ["mcp_list_tools", "mcp_call", "message"]),
    (
        [WEATHER, FREE_MCP],
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "mcp", "server_label": "docs"}]},
        ["mcp_list_tools", "mcp_call", "message"],
    ),
    (
        [{"type": "programmatic_tool_calling"}],
        {"type": "programmatic_tool_calling"},
        ["program", "program_output", "message"],
    ),
    ([CONTAINER_SHELL], "required", ["shell_call", "shell_call_output", "message"]),
]
