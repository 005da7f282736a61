"""Calls the tools that `tool_choice` demands, each in its simplest valid form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from harness import items
from harness.answers.echo import echo_tools
from harness.answers.turn_problem import NAMED_TOOLS, match_tools
from harness.api.project.tools import MEMORY_TOOLS, PROJECT_TOOLS
from harness.api.resources.containers import CONTAINER_ID_PREFIX
from harness.api.tools import declared_tools, loaded_tools
from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.items.kind import ITEMS, Item
from harness.items.mcp import SERVER_TYPES
from harness.items.transcript import Transcript
from harness.unscripted.instance import make_instance
from harness.world.mcp_server import needs_approval
from harness.world.world import World

TEXT, COMMAND = "ok", "echo ok"
"""The input of a custom tool and the output of a tool that the API executes; the command that a shell runs."""
ANY_OBJECT: Json = {"type": "object"}
_VERSION = re.compile(r"(_use)?_(preview|\d{4}).*")
"""Matches the version in the type of a tool: `web_search_preview_2025_03_11` is a `web_search`."""
_SCREENSHOT: Json = {"type": "screenshot"}


class Offer(NamedTuple):
    """A tool that can be called; `search_path` is the path that a tool search must find first, if any."""

    tool: Json
    namespace: str | None = None
    search_path: str = ""


def call_required(body: Json, transcript: Transcript, world: World) -> Sequence[Item]:
    """Call the first tool that the `tool_choice` of a body demands and that was not called since the user spoke."""
    choice = body.get("tool_choice")
    if (choice.get("mode", "required") if isinstance(choice, dict) else choice) != "required":
        return ()
    history = transcript.items
    declared = declared_tools(body, history)
    offers = [offer for offer in _list_offers(declared, history) if _is_chosen(offer.tool, choice)]
    # Each is called only once, so that agent loops end; those of the client first, as a message follows the others.
    offers.sort(key=lambda offer: offer.tool["type"] not in NAMED_TOOLS)
    since = [*takewhile(lambda item: item.get("role") != "user", reversed(history))]
    made = [Item(kind, item) for item in since if (kind := item.get("type")) in ITEMS and ITEMS[kind].tool_types]
    picked = next((offer for offer in offers if not any(_is_call_of(offer, call) for call in made)), None)
    if picked is None:
        return ()
    if picked.tool["type"] in NAMED_TOOLS:
        return _call_named(picked, declared)
    if picked.tool["type"] in SERVER_TYPES:
        return _call_server(picked.tool, as_object(choice).get("name"), history, world)
    return _CALLS[picked.tool["type"]](picked.tool, world)


def call_approved(response: Json, transcript: Transcript, world: World) -> Sequence[Item]:
    """Build the call that an approval allows; empty if it is denied or the server is scripted."""
    requests = {item.get("id"): item for item in transcript.items_of("mcp_approval_request")}
    asked = requests.get(response.get("approval_request_id"))
    if not (asked and response.get("approve")) or world.mcp_servers.tools_of(asked) is not None:
        return ()
    label, name, arguments = asked["server_label"], asked["name"], asked["arguments"]
    return [items.mcp_call(label, name, arguments, output=TEXT, approval_request_id=asked["id"])]


def _list_offers(declared: Sequence[Json], history: Sequence[Json]) -> Iterator[Offer]:
    """List the tools that are declared, and those that searches have loaded."""
    searches = [item for item in history if item.get("type") == "tool_search_output"]
    loaded = {name: tool for item in searches for name, tool in loaded_tools(item, declared).items()}
    # A Foundry project accepts any value as the name of its own tools.
    for tool in [*(tool for tool in declared if as_string(tool.get("name")) not in loaded), *loaded.values()]:
        is_space = tool.get("type") == "namespace"
        for inner in tool.get("tools") or () if is_space else [tool]:
            if inner.get("type") in NAMED_TOOLS:
                waits = inner.get("defer_loading") and tool["name"] not in loaded
                # The namespace of a deferred function is added as that of a scripted call.
                yield Offer(inner, tool["name"] if is_space else None, tool["name"] if waits else "")
            elif inner.get("type") in _CALLS or inner.get("type") in SERVER_TYPES:
                yield Offer(inner)


def _is_chosen(tool: Json, choice: str | Json | None) -> bool:
    """Return whether a choice, or an entry of its `tools`, means this tool."""
    if not isinstance(choice, dict):
        return True
    if "mode" in choice:
        return any(_is_chosen(tool, entry) for entry in objects_in(choice.get("tools")))
    if _VERSION.sub("", tool["type"]) != _VERSION.sub("", str(choice.get("type", tool["type"]))):
        return False
    # For an MCP server, `name` is one of its tools.
    member = "server_label" if tool["type"] == "mcp" else "name"
    return choice.get(member) in (None, tool.get(member))


def _is_call_of(offer: Offer, call: Item) -> bool:
    """Return whether a call is one of this tool, or of the search that must find it."""
    return bool(match_tools(call, [{"type": "tool_search"} if offer.search_path else offer.tool]))


def _call_named(offer: Offer, declared: Sequence[Json]) -> list[Item]:
    """Call a function or a custom tool, after a search if it is deferred."""
    searches = [tool for tool in declared if tool.get("type") == "tool_search"] if offer.search_path else []
    if searches and searches[0].get("execution") == "client":
        arguments = make_instance(searches[0].get("parameters") or ANY_OBJECT)
        return [items.tool_search_call(arguments, execution="client")]
    found = [tool for tool in declared if searches and tool.get("name") == offer.search_path]
    search = [items.tool_search_call({"paths": [offer.search_path]})] if found else []
    loaded = [items.tool_search_output(echo_tools({"tools": found}, ()))] if found else []
    name, schema = offer.tool["name"], offer.tool.get("parameters") or ANY_OBJECT
    if offer.tool["type"] == "custom":
        return [*search, *loaded, items.custom_tool_call(name, TEXT, namespace=offer.namespace)]
    arguments = make_instance(schema, f"tool {name!r}")
    return [*search, *loaded, items.function_call(name, arguments, namespace=offer.namespace)]


def _call_server(tool: Json, name: str | None, history: Sequence[Json], world: World) -> list[Item]:
    """List the tools of an MCP server, once in a conversation, and call one: the one of this `name` if there is one."""
    offer = tool if tool["type"] == "mcp" else _as_mcp(tool)
    label, scripted = offer["server_label"], world.mcp_servers.tools_of(offer)
    lists = [item for item in history if item.get("type") == "mcp_list_tools" and item.get("server_label") == label]
    allowed = offer.get("allowed_tools") or ()
    names = allowed.get("tool_names") or () if isinstance(allowed, dict) else allowed
    known = [listed for item in lists for listed in item.get("tools") or ()] or [
        {"name": name or [*names, "search"][0]}
    ]
    tools = known if scripted is None else scripted
    called = next((listed for listed in tools if listed["name"] == name), None) or next(iter(tools), None)
    if scripted is not None or called is None:
        return [items.mcp_call(label, called["name"])] if called else []
    if needs_approval(called, offer):
        call = items.mcp_approval_request(label, called["name"])
    else:
        call = items.mcp_call(label, called["name"], output=TEXT)
    return [call] if lists else [items.mcp_list_tools(label, tools), call]


def _as_mcp(tool: Json) -> Json:
    """Convert a project's tool with a server behind it to an `mcp` tool, labelled by the name of its connection."""
    connection = as_string(tool.get("project_connection_id")).rstrip("/").rpartition("/")[2]
    label = as_string(tool.get("server_label")) or connection or tool["type"]
    asked = as_string(tool.get("require_approval")) or as_object(tool.get("require_approval"))
    # Only these two types have the setting.
    approval = asked or ("always" if tool["type"] in ("fabric_iq_preview", "web_iq_preview") else "never")
    return {"type": "mcp", "server_label": label, "require_approval": approval}


def _run_shell(tool: Json, world: World) -> list[Item]:
    where = tool.get("environment") or {}
    if where.get("type") not in ("container_auto", "container_reference"):
        return [items.shell_call(COMMAND)]
    id, container = world.ids.call(), where.get("container_id") or world.ids.hex(CONTAINER_ID_PREFIX, 48)
    return [items.shell_call(COMMAND, container_id=container, call_id=id), items.shell_call_output(id, TEXT)]


def _run_program(tool: Json, world: World) -> list[Item]:
    id = world.ids.call()
    return [items.program(f'text("{TEXT}")', call_id=id), items.program_output(id, TEXT)]


def _interpret_code(tool: Json, world: World) -> list[Item]:
    where = tool.get("container")
    return [items.code_interpreter_call(container_id=where if isinstance(where, str) else None)]


def _capture(tool: Json, world: World) -> list[Item]:
    schema = as_object(as_object(tool.get("outputs")).get("schema"))
    return [items.structured_outputs(make_instance(schema or ANY_OBJECT, "outputs.schema"))]


def _call_in_project(tool: Json, world: World) -> list[Item]:
    """Call a tool that a Foundry project executes; what has functions is called by a name."""
    type = tool["type"]
    called = next(name for name in (f"{type}_call", f"{type}_preview_call") if name in ITEMS)
    function = as_object(as_object(tool.get("azure_function")).get("function"))
    named = as_string(function.get("name")) or as_string(as_object(tool.get("openapi")).get("name")) or type
    names = [named] if type in ("a2a", "a2a_preview", "azure_function", "openapi") else []
    return [ITEMS[called].builder(*names), ITEMS[f"{called}_output"].builder(*names)]


_CALLS: Mapping[str, Callable[[Json, World], list[Item]]] = {
    **dict.fromkeys(ITEMS["web_search_call"].tool_types, lambda tool, world: [items.web_search_call("example")]),
    "file_search": lambda tool, world: [items.file_search_call("example")],
    "code_interpreter": _interpret_code,
    "image_generation": lambda tool, world: [items.image_generation_call()],
    "shell": _run_shell,
    "local_shell": lambda tool, world: [items.local_shell_call(COMMAND.split())],
    "apply_patch": lambda tool, world: [items.apply_patch_call(items.create_file("hello.txt", "+ok\n"))],
    "computer": lambda tool, world: [items.computer_call([_SCREENSHOT])],
    "computer_use_preview": lambda tool, world: [items.computer_call(_SCREENSHOT)],
    "programmatic_tool_calling": _run_program,
    **dict.fromkeys(PROJECT_TOOLS - {*SERVER_TYPES, "reminder_preview"}, _call_in_project),
    **dict.fromkeys(MEMORY_TOOLS, lambda tool, world: [items.memory_search_call()]),
    "capture_structured_outputs": _capture,
}
"""The function that calls a tool without a name of its own, by the tool's type."""
