"""The tools that a request declares so that a scripted model may call them."""

from collections.abc import Iterator
from typing import Any

from harness.core.exchange import Json
from harness.items.kind import ITEMS, Item

CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


def functions(*names: str) -> list[Json]:
    """Functions of these names that take any arguments."""
    return [
        {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False}
        for name in names
    ]


def strict_function(name: str, **properties: str) -> Json:
    """Return a strict function with these properties, each with its JSON type."""
    schema = {
        "type": "object",
        "properties": {member: {"type": kind} for member, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "parameters": schema, "strict": True}


def mcp_tool(label: str) -> Json:
    """Return a hosted MCP server whose calls need no approval."""
    url = f"https://{label}.example.org/mcp"
    return {"type": "mcp", "server_label": label, "server_url": url, "require_approval": "never"}


def tools_for(*turns: Any) -> list[Json]:
    """Return what a request declares so that the model may make the calls of these turns, whatever their arguments."""
    made: list[Json] = []
    for tool in (tool for turn in turns for tool in _tools_of(turn)):
        if tool not in made:
            made.append(tool)
    return made


def _tools_of(turn: Any) -> Iterator[Json]:
    for item in turn if isinstance(turn, list | tuple) else [turn]:
        if isinstance(item, Item) and (types := ITEMS[item.type].tool_types):
            if types[0] == "function":
                yield from functions(item.members["name"])
            elif types[0] == "custom":
                yield {"type": "custom", "name": item.members["name"]}
            elif types[0] == "mcp":
                yield mcp_tool(item.members["server_label"])
            else:
                yield {"type": types[0], **_REQUIRED_MEMBERS.get(types[0], {})}


_REQUIRED_MEMBERS: dict[str, Json] = {"code_interpreter": {"container": {"type": "auto"}}}
