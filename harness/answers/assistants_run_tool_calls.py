"""The tool calls in a run's steps: the completed calls, and their deltas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from harness.answers.item_writer import split_into_tokens
from harness.api.classic import PROJECT_TYPES
from harness.api.resources.assistants import COMPUTER_USE, DEFAULT_RANKING
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.json_values import omit
from harness.items.kind import ITEMS, Item

CallRenderer = Callable[[Item, Ids], tuple[Json, list[Json]]]
"""Renders a call: the completed call without its id, and its deltas."""


def _render_function(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
    name, arguments = item.members["name"], item.members["arguments"]
    grow = item.deltas.get(("function_call_arguments", 0)) or split_into_tokens(arguments)
    start: Json = {"name": name, "arguments": "", "output": None}
    deltas = [start, *({"arguments": piece} for piece in grow)]
    function = {"name": name, "arguments": arguments, "output": None}
    return {"type": "function", "function": function}, [{"type": "function", "function": delta} for delta in deltas]


def _render_code_interpreter(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
    code = item.members["code"] or ""
    outputs = [_render_code_output(output, ids) for output in item.members["outputs"] or ()]
    shown = [{"outputs": [{"index": number, **output}]} for number, output in enumerate(outputs)]
    grow = item.deltas.get(("code_interpreter_call_code", 0)) or split_into_tokens(code)
    deltas = [{"input": "", "outputs": []}, *({"input": piece} for piece in grow), *shown]
    kind = "code_interpreter"
    return {"type": kind, kind: {"input": code, "outputs": outputs}}, [{"type": kind, kind: delta} for delta in deltas]


def _render_code_output(output: Json, ids: Ids) -> Json:
    if output["type"] == "logs":
        return {"type": "logs", "logs": output["logs"]}
    return {"type": "image", "image": {"file_id": ids.alphanumeric("assistant-")}}


def _render_file_search(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
    results = [
        {
            "file_id": result["file_id"],
            "file_name": result["filename"],
            "score": result["score"],
            "attributes": result.get("attributes") or {},
            "content": [{"type": "text", "text": result.get("text", "")}],
        }
        for result in item.members["results"] or ()
    ]
    kind = "file_search"
    deltas = [{"type": kind, kind: {"ranking_options": DEFAULT_RANKING, "results": []}}]
    return {"type": kind, kind: {"ranking_options": DEFAULT_RANKING, "results": results}}, deltas


def _render_mcp_call(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
    """Render a call to an MCP server or a request for its approval; recorded only for Foundry."""
    call = {"type": "mcp", **{name: item.members[name] for name in ("arguments", "name", "server_label")}}
    return {**call, "output": item.members.get("output")}, [{**call, "output": None}]


def _render_computer_call(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
    """Render an action on the client's screen; only in the types of Foundry."""
    kind, actions = COMPUTER_USE, item.members.get("actions") or [item.members.get("action")]
    details = {"action": actions[0], "pending_safety_checks": item.members["pending_safety_checks"], "output": None}
    return {"type": kind, kind: details}, [{"type": kind, kind: details}]


def _render_project_call(kind: str) -> CallRenderer:
    """Return the renderer for calls of a Foundry project's tool, by its type in a run."""

    def render(item: Item, ids: Ids) -> tuple[Json, list[Json]]:
        details = _PROJECT_DETAILS.get(kind, _input_and_output)(item.members)
        return {"type": kind, kind: details}, [{"type": kind, kind: details}]

    return render


def _input_and_output(members: Json) -> Json:
    return {"input": members["arguments"], "output": members.get("output", "")}


def _function_and_output(members: Json) -> Json:
    return {"name": members["name"], "arguments": members["arguments"], "output": members.get("output", "")}


def _search_and_metadata(members: Json) -> Json:
    return {"requesturl": members["arguments"], "response_metadata": members.get("output", "")}


_PROJECT_DETAILS: Mapping[str, Callable[[Json], Json]] = {
    **dict.fromkeys(("azure_function", "connected_agent", "openapi"), _function_and_output),
    **dict.fromkeys(("bing_grounding", "bing_custom_search"), _search_and_metadata),
    "browser_automation": lambda members: {**_input_and_output(members), "steps": []},
}
"""What a run shows of a call, by its type: recorded 2025-08, except for custom searches, sites and indexes (typed)."""


def join_outputs(turn: Sequence[Item]) -> list[Item]:
    """Join each call that the API has executed with its output, as a run shows both in one."""
    joined: list[Item] = []
    for item in turn:
        call_type = ITEMS.find(item.type).result_of
        open_calls = [
            place for place, call in enumerate(joined) if call.type == call_type and "output" not in call.members
        ]
        if call_type and open_calls:
            call = joined[open_calls[-1]]
            joined[open_calls[-1]] = replace(call, members={**call.members, "output": item.members["output"]})
        else:
            joined.append(item)
    return joined


CALL_RENDERERS: Mapping[str, CallRenderer] = {
    "function_call": _render_function,
    "code_interpreter_call": _render_code_interpreter,
    "computer_call": _render_computer_call,
    "file_search_call": _render_file_search,
    "mcp_call": _render_mcp_call,
    "mcp_approval_request": _render_mcp_call,
    **{f"{type}_call": _render_project_call(kind) for kind, type in PROJECT_TYPES.items()},
}
"""The renderers of the items that are tool calls in a run."""


def build_required_action(calls: Sequence[Json]) -> Json:
    """Build the required action of a run: outputs of the client's calls, or approval of MCP calls."""
    if calls[0]["type"] == "mcp":
        shown = [omit(call, "output") for call in calls]
        return {"type": "submit_tool_approval", "submit_tool_approval": {"tool_calls": shown}}
    shown = [{**call, call["type"]: omit(call[call["type"]], "output")} for call in calls]
    return {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": shown}}
