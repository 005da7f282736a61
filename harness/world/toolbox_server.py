"""A toolbox as an MCP server: its tools, its skills, and the results of calls.

Recorded 2026-05: tool names follow their server's label, and a tool search takes their place in the list. Documented:
sessions are optional, there are no prompts, skills are resources. The tools of a server are those of `mock.mcp(label,
…)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from harness.api.project.memories import word_set
from harness.api.project.skills import SKILL_FILE, read_skill_file
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.world.world import World

SEPARATOR = "___"
"""Separates the label of a server from the name of its tool."""
SEARCH_TYPES = ("toolbox_search", "toolbox_search_preview")
TOOL_SEARCH, CALL_TOOL = "tool_search", "call_tool"
PROTOCOL_VERSION = "2025-06-18"
"""The MCP version for clients that name none."""
MOST_FOUND = 5
NO_METHOD, BAD_PARAMS = -32601, -32602
"""Error codes of JSON-RPC."""
_TEXT = {"type": "string"}
_META_TOOLS = (
    {
        "name": TOOL_SEARCH,
        "description": "Finds tools of this toolbox by words of their names and descriptions.",
        "inputSchema": {
            "type": "object",
            "properties": {"query": _TEXT, "limit": {"type": "integer", "default": MOST_FOUND}},
            "required": [],
        },
    },
    {
        "name": CALL_TOOL,
        "description": "Calls a tool that was found, by its name and with its arguments.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": _TEXT, "arguments": {"type": "object"}},
            "required": ["name"],
        },
    },
)


class RpcError(Exception):
    """A JSON-RPC error, as data for the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ToolboxServer:
    """A version of a toolbox that answers JSON-RPC calls."""

    def __init__(self, world: World, version: Json) -> None:
        self._world = world
        self._version = version
        self._tools = [tool for tool in version["tools"] if isinstance(tool, dict)]

    def answer(self, call: Json) -> Json | None:
        """Answer a call; None for a notification, which gets no answer."""
        if "id" not in call:
            return None
        method, params = call.get("method"), call.get("params")
        known = METHODS.get(method) if isinstance(method, str) else None
        try:
            if known is None:
                raise RpcError(NO_METHOD, f"Method '{method}' is not available.")
            ended = {"result": known(self, params if isinstance(params, dict) else {})}
        except RpcError as problem:
            ended = {"error": {"code": problem.code, "message": str(problem)}}
        return {"jsonrpc": "2.0", "id": call["id"], **ended}

    def initialize(self, params: Json) -> Json:
        """Return the server's name and capabilities."""
        return {
            "protocolVersion": params.get("protocolVersion", PROTOCOL_VERSION),
            "capabilities": {"tools": {"listChanged": False}, "resources": {"listChanged": False}},
            "serverInfo": {"name": self._version["name"], "version": self._version["version"]},
        }

    def list_tools(self, _params: Json) -> Json:
        """List the tools; if a tool search is among them, only the two that find and call the others."""
        return {"tools": list(_META_TOOLS) if self._searches else list(self._find_tools())}

    def call_tool(self, params: Json) -> Json:
        """Call a tool, or search for tools."""
        name, arguments = params.get("name"), params.get("arguments")
        if self._searches and name == TOOL_SEARCH:
            return _text_result(orjson.dumps({"tools": self._search(arguments)}).decode())
        # With a search the toolbox offers two tools only, one of which calls the others by name.
        if self._searches and name == CALL_TOOL:
            inner = arguments if isinstance(arguments, dict) else {}
            name, arguments = inner.get("name"), inner.get("arguments")
        served = next((tool for tool in self._find_tools() if tool["name"] == name), None)
        if served is None:
            raise RpcError(BAD_PARAMS, f"Tool '{name}' is not available.")
        label = served["_meta"]["tool_configuration"]["server_label"]
        own_name = served["name"].removeprefix(f"{label}{SEPARATOR}")
        called = self._world.mcp_servers.call(label, own_name, orjson.dumps(arguments or {}).decode())
        return _text_result(called.get("output") or "", called.get("error"))

    def list_resources(self, _params: Json) -> Json:
        """List the skills."""
        return {"resources": [self._describe(name) for name in self._skills]}

    def read_resource(self, params: Json) -> Json:
        """Return the SKILL.md of a skill."""
        uri = params.get("uri")
        for name, text in self._skills.items():
            if uri == _uri_of(name):
                return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}
        raise RpcError(BAD_PARAMS, f"Resource '{uri}' is not available.")

    @property
    def _searches(self) -> bool:
        return any(tool.get("type") in SEARCH_TYPES for tool in self._tools)

    def _find_tools(self) -> Iterator[Json]:
        """Yield the tools of the scripted servers, each with the toolbox's configuration of its server."""
        for tool in self._tools:
            for offered in self._world.mcp_servers.tools_of(_offer_of(tool)) or ():
                read_only = (offered.get("annotations") or {}).get("read_only")
                yield {
                    "name": f"{tool['server_label']}{SEPARATOR}{offered['name']}",
                    "description": offered.get("description") or "",
                    "inputSchema": offered.get("input_schema") or {"type": "object", "properties": {}},
                    **({"annotations": {"readOnlyHint": read_only}} if read_only is not None else {}),
                    "_meta": {"tool_configuration": tool},
                }

    def _search(self, arguments: Any) -> list[Json]:
        """Return the tools that share words with the query, best match first; without a query, all tools."""
        asked = arguments if isinstance(arguments, dict) else {}
        wanted, limit = word_set(str(asked.get("query", "")).replace("_", " ")), asked.get("limit")
        tools = list(self._find_tools())
        scores = [len(wanted & word_set(f"{tool['name']} {tool['description']}".replace("_", " "))) for tool in tools]
        found = sorted((place for place, score in enumerate(scores) if score or not wanted), key=lambda at: -scores[at])
        most = limit if isinstance(limit, int) and limit > 0 else MOST_FOUND
        return [tools[place] for place in found[:most]]

    @property
    def _skills(self) -> Mapping[str, str]:
        """The SKILL.md of each existing skill, in the version that the toolbox names, otherwise the default."""
        known = self._world.store.skills
        named = ((as_string(skill.get("name")), skill.get("version")) for skill in objects_in(self._version["skills"]))
        return {name: read_skill_file(known[name].package(version)) for name, version in named if name in known}

    def _describe(self, name: str) -> Json:
        skill = self._world.store.skills[name]
        described = skill.versions[skill.default]["description"]
        return {"uri": _uri_of(name), "name": name, "description": described, "mimeType": "text/markdown"}


METHODS: Mapping[str, Callable[[ToolboxServer, Json], Json]] = {
    "initialize": ToolboxServer.initialize,
    "ping": lambda server, params: {},
    "tools/list": ToolboxServer.list_tools,
    "tools/call": ToolboxServer.call_tool,
    "resources/list": ToolboxServer.list_resources,
    "resources/read": ToolboxServer.read_resource,
}
"""The methods of a toolbox server."""


def _offer_of(tool: Json) -> Json:
    """Return a toolbox tool as an offer of a server: its label, and the allowed tools.

    Any other kind of tool offers nothing.
    """
    label, allowed = tool.get("server_label"), tool.get("allowed_tools")
    named = allowed.get("tool_names") if isinstance(allowed, dict) else allowed
    is_server = tool.get("type") == "mcp" and isinstance(label, str)
    return {"server_label": label if is_server else "", "allowed_tools": named if isinstance(named, list) else None}


def _uri_of(skill: str) -> str:
    return f"skill://{skill}/{SKILL_FILE}"


def _text_result(text: str, error: Any = None) -> Json:
    said = text if error is None else orjson.dumps(error).decode()
    return {"content": [{"type": "text", "text": said}], "isError": error is not None}
