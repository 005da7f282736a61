"""Generates calls of Foundry project tools with their outputs, as the service does.

Tool definitions are not checked beforehand, so their members may have any form. Arguments and outputs have the forms
recorded 2026-02 to 2026-06; those of browser automation and Azure functions are assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api.project.tools import MEMORY_TOOLS
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.items import memory_search_call, structured_outputs
from harness.items.kind import Item
from harness.items.project import calls
from harness.unscripted.instance import make_instance
from harness.unscripted.pick_tool import pick_tool
from harness.unscripted.reading import CallableTool, Reading
from harness.world.project_resources import settle_updates

SOURCE_MARK = "【6:0†source】"
"""How a text cites the first document that a search found; recorded 2026-03 for a first search."""
EXAMPLE_PAGE, EXAMPLE_TITLE = "https://example.com/", "Example Domain"
"""The page that a search finds."""
FINDERS = frozenset(
    (
        *("azure_ai_search_call", "bing_custom_search_preview_call", "bing_grounding_call"),
        *("fabric_dataagent_preview_call", "sharepoint_grounding_preview_call"),
    )
)
"""The calls whose findings the following text cites."""
_APPROVED = ("fabric_iq_preview", "web_iq_preview")
"""The server tools whose calls need approval by default; the others have no such setting (typed)."""
_METHODS = ("get", "post", "put", "patch", "delete")

ToolCall = Callable[[Json, Reading], list[Item]]


def label_server(tool: Json) -> Json:
    """Convert a server tool to an `mcp` tool; its default label is the last part of its connection's name."""
    label = as_string(tool.get("server_label"))
    connection = as_string(tool.get("project_connection_id")).rstrip("/").rpartition("/")[2]
    asked = as_string(tool.get("require_approval")) or as_object(tool.get("require_approval"))
    approval = asked or ("always" if tool["type"] in _APPROVED else "never")
    return {"type": "mcp", "server_label": label or connection or tool["type"], "require_approval": approval}


def _search_with(call: Callable[..., Item], result: Callable[..., Item], output: Any) -> ToolCall:
    """Build a function that calls a tool with the user's message as the query and returns this output."""
    return lambda tool, reading: [call({"query": reading.query}), result(output)]


def _ask_agent(tool: Json, reading: Reading) -> list[Item]:
    arguments = {"message": {"parts": [{"kind": "text", "text": reading.query}]}}
    return [calls.a2a_preview_call("a2a", arguments), calls.a2a_preview_call_output("a2a")]


def _call_azure_function(tool: Json, reading: Reading) -> list[Item]:
    function = _pick_function(tool, reading)
    arguments = _fill(function["parameters"], reading)
    return [
        calls.azure_function_call(function["name"], arguments),
        calls.azure_function_call_output(function["name"], "ok"),
    ]


def _call_operation(tool: Json, reading: Reading) -> list[Item]:
    """Call an operation of an `openapi` tool."""
    # Recorded: its name combines the tool's and its own, and the answer is a string within the output.
    operation = _pick_function(tool, reading)
    arguments, name = _fill(operation["parameters"], reading), operation["name"]
    return [calls.openapi_call(name, arguments), calls.openapi_call_output(name, {"response": "{}"})]


def _pick_function(tool: Json, reading: Reading) -> Json:
    """Pick a function of an `azure_function` or an `openapi`, in the form of a function tool."""
    functions = _functions_of(tool)
    picked = pick_tool([CallableTool(function) for function in functions], "required", reading.user_text)
    return picked.tool if picked else functions[0]


def _functions_of(tool: Json) -> list[Json]:
    if tool["type"] == "azure_function":
        own = as_object(as_object(tool.get("azure_function")).get("function"))
        return [_function(as_string(own.get("name")) or "function", own.get("parameters"))]
    own = as_object(tool.get("openapi"))
    prefix, paths = as_string(own.get("name")) or "api", as_object(as_object(own.get("spec")).get("paths"))
    operations = [as_object(as_object(path).get(method)) for path in paths.values() for method in _METHODS]
    return [
        _function(f"{prefix}_{as_string(operation.get('operationId')) or 'call'}", _parameters_of(operation))
        for operation in list(filter(None, operations)) or [{}]
    ]


def _function(name: str, parameters: Any) -> Json:
    return {"type": "function", "name": name, "parameters": parameters}


def _parameters_of(operation: Json) -> Json:
    """Convert the required parameters of an operation to a schema."""
    declared = objects_in(operation.get("parameters"))
    properties = {
        as_string(parameter.get("name")): as_object(parameter.get("schema"))
        for parameter in declared
        if parameter.get("required") is True
    }
    return {"type": "object", "properties": properties, "required": [*properties]}


def _capture(tool: Json, reading: Reading) -> list[Item]:
    return [structured_outputs(_fill(as_object(tool.get("outputs")).get("schema"), reading))]


def _search_memories(tool: Json, reading: Reading) -> list[Item]:
    """Search the memories of the scope, after pending updates; the user's message starts another update."""
    world, scope = reading.world, as_string(tool.get("scope"))
    store = world.store.memory_stores.get(as_string(tool.get("memory_store_name")))
    if not (store and scope):
        return [memory_search_call()]
    settle_updates(world, store)
    asked = {"scope": scope, "items": reading.user_text, "options": tool.get("search_options")}
    found = store.search(world.ids.hex("", 32), asked)
    update_id = world.ids.guid()
    store.queue(update_id, {**asked, "update_delay": tool.get("update_delay")})
    return [memory_search_call(found["memories"], search_id=found["search_id"], update_id=update_id)]


def first_memory(turn: Sequence[Item]) -> str:
    """Return the first memory that a search in a turn found; empty without one."""
    found = (memory for item in turn if item.type == "memory_search_call" for memory in item.members["memories"])
    return next((as_string(as_object(memory.get("memory_item")).get("content")) for memory in found), "")


def _fill(schema: Any, reading: Reading) -> Json:
    """Build arguments for what may be a schema; empty if no instance is found."""
    try:
        return as_object(make_instance(schema, reading.user_text)) if isinstance(schema, dict) else {}
    except ScriptError:
        return {}


_DOCUMENT: Json = {
    "id": "1",
    "content": "Nothing is scripted.",
    "filepath": "",
    "title": EXAMPLE_TITLE,
    "url": EXAMPLE_PAGE,
}
_DOCUMENTS: Json = {"documents": [_DOCUMENT]}
_browse = _search_with(calls.browser_automation_preview_call, calls.browser_automation_preview_call_output, "ok")

PROJECT_CALLS: Mapping[str, ToolCall] = {
    **dict.fromkeys(("a2a", "a2a_preview"), _ask_agent),
    **dict.fromkeys(("browser_automation", "browser_automation_preview"), _browse),
    **dict.fromkeys(MEMORY_TOOLS, _search_memories),
    "azure_ai_search": _search_with(
        calls.azure_ai_search_call,
        calls.azure_ai_search_call_output,
        {**_DOCUMENTS, "get_urls": [f"{EXAMPLE_PAGE}docs/1"]},
    ),
    "azure_function": _call_azure_function,
    "bing_custom_search_preview": _search_with(
        calls.bing_custom_search_preview_call, calls.bing_custom_search_preview_call_output, ""
    ),
    "bing_grounding": _search_with(calls.bing_grounding_call, calls.bing_grounding_call_output, ""),
    "capture_structured_outputs": _capture,
    "fabric_dataagent_preview": _search_with(
        calls.fabric_dataagent_preview_call, calls.fabric_dataagent_preview_call_output, _DOCUMENTS
    ),
    "openapi": _call_operation,
    "sharepoint_grounding_preview": _search_with(
        calls.sharepoint_grounding_preview_call, calls.sharepoint_grounding_preview_call_output, _DOCUMENTS
    ),
}
"""The function that calls a tool, by tool type."""
