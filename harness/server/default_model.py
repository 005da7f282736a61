"""The answers of an unscripted model: small talk, the shortest JSON a schema allows, or a tool call.

after a tool's output                    a text, so that agent loops end
tool_choice requires or names a tool     a call of it with the least arguments
the user speaks of what a tool is for    a call as well: of `get_weather` for "What is the weather?" (`tool_picker`)
text.format requires JSON                a text that is the least instance
else                                     a text
"""

from __future__ import annotations

from harness.core.exchange import Json, Request
from harness.items import custom_tool_call, function_call, message
from harness.items.kind import Item
from harness.items.transcript import input_items
from harness.server.least_instance import compact_json, least_instance
from harness.server.tool_picker import pick_tool

GREETING = "Hello. Nothing is scripted, so this is small talk."
THANKS = "Thanks, I have what the tool returned."
CUSTOM_TOOL_INPUT = "ok"
"""What a custom tool is called with."""


def small_talk(request: Request) -> list[Item]:
    """The items that answer a request when nothing is scripted; ScriptError when no instance of a schema is found."""
    body: Json = request.body if isinstance(request.body, dict) else {}
    last = next(reversed(input_items(body)), {})
    if str(last.get("type")).endswith("_output"):
        return [message(_message_text(body, THANKS))]
    if tool := pick_tool(body):
        return [_call_tool(tool)]
    return [message(_message_text(body, GREETING))]


def _call_tool(tool: Json) -> Item:
    if tool["type"] == "custom":
        return custom_tool_call(tool["name"], CUSTOM_TOOL_INPUT)
    return function_call(
        tool["name"], least_instance(tool.get("parameters") or {"type": "object"}, f"tool {tool['name']!r}")
    )


def _message_text(body: Json, default: str) -> str:
    wanted = (body.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        return compact_json(least_instance(wanted.get("schema") or {}, "text.format"))
    return "{}" if wanted.get("type") == "json_object" else default
