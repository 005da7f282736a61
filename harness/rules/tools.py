"""Tools and `tool_choice`: strict function schemas, a choice that can be met."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import ApiError
from harness.exchange import Json, Request
from harness.rule import reported, rule
from harness.strict import faults

F: Json = {"type": "function", "name": "f"}


def _function(**parameters: object) -> Json:
    return {"tools": [{**F, "strict": True, "parameters": parameters}]}


@rule(
    when="tools",
    error=ApiError(
        400,
        "Invalid schema for function '{name}': {problem}",
        "tools[{index}].parameters",
        "invalid_function_parameters",
    ),
    source=reported("public reports of three origins", "2026"),
    rejects={
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be "
        "false.": _function(type="object", properties={}),
        "Invalid schema for function 'f': In context=('properties', 'a'), 'additionalProperties' is required to be "
        "supplied and to be false.": _function(
            type="object",
            properties={"a": {"type": "object", "properties": {}}},
            required=["a"],
            additionalProperties=False,
        ),
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array "
        "including every key in properties. Missing 'a'.": _function(
            type="object", properties={"a": {"type": "string"}}, additionalProperties=False, required=[]
        ),
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.": {
            "tools": [{**F, "parameters": {"oneOf": [{"type": "object"}]}}]
        },
    },
    accepts=[
        {"tools": [{**F, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]},
        {"tools": [{**F, "strict": None, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]},
        {"tools": [{**F, "strict": False, "parameters": {"type": "object", "properties": {"a": {}}}}]},
        {"tools": [F]},
        _function(type="object", properties={}, additionalProperties=False),
    ],
    fix="Close every object (`additionalProperties: false`) and require all its properties, or set `strict: false`.",
)
def function_schema(request: Request) -> Iterator[Json]:
    """A function's parameters are an object; with `strict: true` every object in them is closed and all is required."""
    for index, tool in enumerate(request.body.get("tools") or ()):
        if tool["type"] == "function" and tool.get("parameters") is not None:
            for problem in faults(tool["parameters"], strict=tool.get("strict") is True):
                yield {"name": tool["name"], "index": index, "problem": problem}


def _chosen(choice: object) -> str | None:
    """The name a tool choice is known by in errors; None when it leaves the model free."""
    if isinstance(choice, str):
        return choice if choice == "required" else None
    if not isinstance(choice, dict) or choice.get("type") == "allowed_tools":
        return None
    return str(choice.get("name") or choice.get("server_label") or choice["type"])


@rule(
    when="tool_choice",
    error=ApiError(400, "Tool choice '{name}' must be specified with 'tools' parameter.", "tool_choice"),
    source=reported("public reports of three origins", "2026-10-07"),
    rejects={
        "Tool choice 'required' must be specified with 'tools' parameter.": {"tool_choice": "required"},
        "Tool choice 'f' must be specified with 'tools' parameter.": {"tool_choice": {"type": "function", "name": "f"}},
    },
    accepts=[{"tool_choice": "auto"}, {"tool_choice": "none"}],
    fix="Declare the tool, or leave the choice out.",
)
def tool_choice_without_tools(request: Request) -> Iterator[Json]:
    """A choice that needs a tool needs `tools`; `auto` and `none` do not."""
    name = _chosen(request.body.get("tool_choice"))
    if name and not request.body.get("tools") and not _continues(request):
        yield {"name": name}


def _continues(request: Request) -> bool:
    # A stored prompt may bring its own tools.
    return bool(request.body.get("prompt"))


@rule(
    when="tool_choice",
    error=ApiError(400, "Tool choice '{name}' not found in 'tools' parameter.", "tool_choice"),
    source=reported("public reports of two origins", "2026"),
    rejects={
        "Tool choice 'image_generation' not found in 'tools' parameter.": {
            "tools": [F],
            "tool_choice": {"type": "image_generation"},
        },
        "Tool choice 'g' not found in 'tools' parameter.": {
            "tools": [F],
            "tool_choice": {"type": "function", "name": "g"},
        },
    },
    accepts=[
        {"tools": [F], "tool_choice": {"type": "function", "name": "f"}},
        {"tools": [F], "tool_choice": "required"},
    ],
    fix="Choose a tool that is declared.",
)
def tool_choice_not_found(request: Request) -> Iterator[Json]:
    """A named choice must be one of the declared tools."""
    choice, tools = request.body.get("tool_choice"), request.body.get("tools") or ()
    name = _chosen(choice)
    if not isinstance(choice, dict) or not name or not tools or _continues(request):
        return
    if not any(_family(name) in _names(tool) for tool in tools):
        yield {"name": name}


def _names(tool: Json) -> set[str]:
    inner = {one["name"] for one in tool.get("tools") or () if isinstance(one, dict) and "name" in one}
    return inner | {_family(tool["type"]), tool.get("name", ""), tool.get("server_label", "")}


def _family(type: str) -> str:
    """A tool type without its version: the API takes `web_search_preview` for a declared `web_search`."""
    return type.partition("_20")[0].removesuffix("_preview")
