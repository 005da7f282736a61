"""Generates calls of tools without names: those that the API executes, and shell, patch and computer calls.

A message follows a call that the API executes; a call that the client executes ends the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.core.exchange import Json
from harness.items import (
    apply_patch_call,
    code_interpreter_call,
    computer_call,
    create_file,
    file_search_call,
    image_generation_call,
    local_shell_call,
    mcp_approval_request,
    mcp_call,
    mcp_list_tools,
    program,
    program_output,
    shell_call,
    shell_call_output,
    web_search_call,
)
from harness.items.image import ONE_PIXEL_PNG
from harness.items.kind import CLIENT_CALL_NAMES, Item
from harness.items.mcp import SERVER_TYPES
from harness.items.search import search
from harness.unscripted.project_tools import PROJECT_CALLS, label_server
from harness.unscripted.reading import Reading
from harness.world.mcp_server import needs_approval

PATH, COMMAND, OUTPUT = "hello.txt", "echo ok", "ok"
"""The file that a patch creates, the command that a shell runs, and the output of that and of an MCP tool."""
EXAMPLE_SITE = "example.com"
"""The site that a web search finds."""
MCP_TOOL = "search"
"""The tool of an MCP server whose tools are unknown."""

_SCREENSHOT = {"type": "screenshot"}
_CONTAINERS = ("container_auto", "container_reference")


def needs_client(turn: Sequence[Item]) -> bool:
    """Return whether a turn ends with a call or approval request that the client must answer."""
    last = turn[-1]
    own = last.type in CLIENT_CALL_NAMES and last.members.get("execution") != "server"
    return own or last.type == "mcp_approval_request"


def call_hosted(tool: Json, choice: Any, reading: Reading) -> list[Item]:
    """Call a tool; `choice` is the `tool_choice`, which may name a tool of an MCP server."""
    if tool["type"] in SERVER_TYPES:
        server = tool if tool["type"] == "mcp" else label_server(tool)
        return _call_server(server, choice if isinstance(choice, dict) else {}, reading)
    return _CALLS[tool["type"]](tool, reading)


def call_approved(response: Json, reading: Reading) -> list[Item]:
    """Build the call that an approval allows; empty if it is denied or the server is scripted."""
    requests = [item for item in reading.items if item.get("type") == "mcp_approval_request"]
    asked = next((item for item in requests if item.get("id") == response.get("approval_request_id")), None)
    if not (asked and response.get("approve")) or reading.world.mcp_servers.tools_of(asked) is not None:
        return []
    label, name, arguments = asked["server_label"], asked["name"], asked["arguments"]
    return [mcp_call(label, name, arguments, output=OUTPUT, approval_request_id=asked["id"])]


def _call_server(tool: Json, choice: Json, reading: Reading) -> list[Item]:
    label, scripted = tool["server_label"], reading.world.mcp_servers.tools_of(tool)
    listed = [item for item in reading.items if item.get("type") == "mcp_list_tools" and item["server_label"] == label]
    tools = scripted if scripted is not None else _known_tools(tool, choice, listed)
    names = [listed_tool["name"] for listed_tool in tools]
    if not names:
        return []
    name = choice["name"] if choice.get("name") in names else names[0]
    if scripted is not None:
        return [mcp_call(label, name)]
    # The API lists the tools of a server only once per conversation.
    listing = [] if listed else [mcp_list_tools(label, tools)]
    if needs_approval(tools[names.index(name)], tool):
        return [*listing, mcp_approval_request(label, name)]
    return [*listing, mcp_call(label, name, output=OUTPUT)]


def _known_tools(tool: Json, choice: Json, listed: Sequence[Json]) -> list[Json]:
    """List the tools of a server: as listed before, else as the request names them, else an example."""
    if listed:
        return [listed_tool for item in listed for listed_tool in item.get("tools") or ()]
    allowed = tool.get("allowed_tools") or ()
    names = allowed.get("tool_names") or () if isinstance(allowed, dict) else allowed
    asked = [choice["name"]] if choice.get("name") else []
    return [{"name": name} for name in dict.fromkeys([*asked, *names])] or [{"name": MCP_TOOL}]


def _generate_image(tool: Json, reading: Reading) -> list[Item]:
    asked = {name: tool[name] for name in ("size", "quality", "background", "output_format") if tool.get(name)}
    shown = {name: value for name, value in asked.items() if value != "auto"}
    images = [ONE_PIXEL_PNG] * int(tool.get("partial_images") or 0)
    return [image_generation_call(images or ONE_PIXEL_PNG, revised_prompt=reading.query, **shown)]


def _run_shell(tool: Json, reading: Reading) -> list[Item]:
    where = tool.get("environment") or {}
    if where.get("type") not in _CONTAINERS:
        return [shell_call(COMMAND)]
    id, container = reading.world.ids.call(), where.get("container_id") or reading.shell_container()
    return [shell_call(COMMAND, container_id=container, call_id=id), shell_call_output(id, OUTPUT)]


def _run_program(tool: Json, reading: Reading) -> list[Item]:
    id = reading.world.ids.call()
    return [program(f'text("{OUTPUT}")', call_id=id), program_output(id, OUTPUT)]


def _interpret_code(tool: Json, reading: Reading) -> list[Item]:
    where = tool.get("container")
    container = where if isinstance(where, str) else None
    return [code_interpreter_call("print('ok')", container_id=container, outputs=["ok"])]


def _search_web(tool: Json, reading: Reading) -> list[Item]:
    return [web_search_call(search(reading.query, sources=[page_of(web_site(reading))]))]


def web_site(reading: Reading) -> str:
    """Return the site that a web search finds: the first that the tool allows, else an example."""
    filters = (tool.get("filters") or {} for tool in reading.tools if tool["type"].startswith("web_search"))
    return next((site for tool in filters for site in tool.get("allowed_domains") or () if site), EXAMPLE_SITE)


def page_of(site: str) -> str:
    """Return the URL of the page that a search finds on a site."""
    return f"https://{site}/"


def is_client_search(tool: Json) -> bool:
    """Return whether a tool is a `tool_search` that the client executes."""
    return tool["type"] == "tool_search" and tool.get("execution") == "client"


_CALLS: Mapping[str, Callable[[Json, Reading], list[Item]]] = {
    **dict.fromkeys(
        ("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"), _search_web
    ),
    "file_search": lambda tool, reading: [file_search_call(reading.query, results=[])],
    "code_interpreter": _interpret_code,
    "image_generation": _generate_image,
    "shell": _run_shell,
    "local_shell": lambda tool, reading: [local_shell_call(COMMAND.split())],
    "apply_patch": lambda tool, reading: [apply_patch_call(create_file(PATH, "+ok\n"))],
    "computer": lambda tool, reading: [computer_call([_SCREENSHOT])],
    "computer_use_preview": lambda tool, reading: [computer_call(_SCREENSHOT)],
    "programmatic_tool_calling": _run_program,
    **PROJECT_CALLS,
}
HOSTED_TYPES = frozenset({*_CALLS, *SERVER_TYPES})
"""The types of tools that the model can call without a name."""
