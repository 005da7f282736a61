"""`/toolboxes`: tools and skills that agents share, in versions numbered by the service, each also an MCP server.

Recorded 2026-05 to 2026-07. Of the server: tool names follow their server's label, and a tool search takes their place
in the list. Documented: sessions are optional, there are no prompts, skills are resources. The tools of a server are
those of `mock.mcp(label, …)`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from harness.api.http.dialects import FOUNDRY
from harness.api.operations import operation
from harness.api.project_types import order_tool
from harness.api.skill_files import SKILL_FILE, read_skill_file
from harness.contract.rule import RuleScope, WorldView, after, assumed, recorded, rule
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.registry import TableKind, declare_table
from harness.foundry.memory_stores import word_set
from harness.foundry.resources import (
    ASSETS_REPOSITORY,
    Collection,
    Versioned,
    find_missing,
    project_case,
    project_not_found,
)
from harness.foundry.skills import SKILLS
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource, member_types
from harness.world.world import World

SCOPE = RuleScope(area="resources", dialects=FOUNDRY)
TOOLBOXES: TableKind[Versioned] = declare_table("toolboxes")
TOOLBOX = "/toolboxes/{name}"
VERSIONS = f"{TOOLBOX}/versions"
TOOLBOX_VERSIONS_SINCE = "2026-09-18"
"""The first day on which a toolbox has its newest version and its last change (azure-ai-projects 2.7, typed)."""
SKILLS_SINCE = "2026-05-29"
"""The first day on which a version has its skills and ends with `object`; the last day before is 2026-04-15.

Both are recorded.
"""
MAKE_TOOLBOX = project_case("POST /toolboxes/mine/versions", {"tools": []})


class Toolboxes(Collection):
    """The toolboxes of a project."""

    table = TOOLBOXES

    def show(self, resource: Versioned, as_of: str) -> Json:
        """Show a toolbox in its form on a day."""
        newer = (
            {"updated_at": resource.updated_at, "versions": {"latest": resource.latest}}
            if as_of >= TOOLBOX_VERSIONS_SINCE
            else {}
        )
        named = {"id": resource.id, "name": resource.latest["name"], **newer, "default_version": resource.default}
        return {**_type_of("toolbox", as_of < SKILLS_SINCE), **named, **_type_of("toolbox", as_of >= SKILLS_SINCE)}

    def put(self, world: World, name: str, body: Json) -> Json:
        """Add a version to a new or existing toolbox; recorded: a tool or skill begins with its type."""
        toolbox, as_of = self.find_or_make(world, name), world.as_of
        number = toolbox.take_number("toolbox", name)
        now = world.tick()
        made = {
            "metadata": body.get("metadata") or {},
            **_type_of("toolbox.version", as_of < SKILLS_SINCE),
            "id": f"{toolbox.id}:{number}",
            "name": name,
            "version": number,
            "description": body.get("description") or "",
            "created_at": now,
            "tools": _stored(body.get("tools")),
            **({"skills": _stored(body.get("skills"))} if as_of >= SKILLS_SINCE else {}),
            **({"policies": body["policies"]} if body.get("policies") else {}),
            **_type_of("toolbox.version", as_of >= SKILLS_SINCE),
        }
        return toolbox.add(now, made)


_TOOLBOXES = Toolboxes()
_TOOLBOXES.register()


def _type_of(name: str, is_here: bool) -> Json:
    return {"object": name} if is_here else {}


def _stored(tools: Any) -> list[Any]:
    listed = tools if isinstance(tools, list) else []
    return [order_tool(_labelled(tool)) if isinstance(tool, dict) and "type" in tool else tool for tool in listed]


def _labelled(tool: Json) -> Json:
    """Label the server of Fabric IQ with its connection if the tool has no label (recorded 2026-06-23, with .NET)."""
    connection = as_string(tool.get("project_connection_id"))
    if tool["type"] != "fabric_iq_preview" or not connection or "server_label" in tool:
        return tool
    return {**tool, "server_label": connection.rpartition("/")[2]}


@operation("POST", VERSIONS, project=True)
def create_version(call: ApiCall) -> Answer:
    """Add a version to a toolbox."""
    return Answer(200, _TOOLBOXES.put(call.world, call.params["name"], call.body))


@operation("PATCH", TOOLBOX, project=True)
def update(call: ApiCall) -> Answer:
    """Change the default version."""
    toolbox = _TOOLBOXES.find(call)
    toolbox.default, toolbox.updated_at = call.body["default_version"], call.world.tick()
    return _TOOLBOXES.retrieve(call)


@operation("POST", f"{TOOLBOX}:invoke_mcp", project=True)
@operation("POST", f"{TOOLBOX}/mcp", project=True)
@operation("POST", f"{VERSIONS}/{{version}}/mcp", project=True)
def answer_over_mcp(call: ApiCall) -> Answer:
    """Answer an MCP call to a version, by default the default one, as JSON, never as a stream."""
    toolbox = _TOOLBOXES.find(call)
    version = toolbox.versions[call.params.get("version", toolbox.default)]
    answer = ToolboxServer(call.world, version).answer(call.body or {})
    return Answer(202, b"") if answer is None else Answer(200, answer)


@declare_resource("toolbox", member_types("description", "metadata policies", "tools skills"))
def make_toolbox(world: World, name: str, members: Json) -> str:
    """Create a version of a toolbox, its default."""
    made = _TOOLBOXES.put(world, name, members)
    world.store.table(TOOLBOXES)[name].default = made["version"]
    return str(made["id"])


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
        self._tools = objects_in(version["tools"])

    def answer(self, call: Json) -> Json | None:
        """Answer a call; None for a notification, which gets no answer."""
        if "id" not in call:
            return None
        method, params = call.get("method"), call.get("params")
        known = METHODS.get(method) if isinstance(method, str) else None
        try:
            if known is None:
                raise RpcError(NO_METHOD, f"Method '{method}' is not available.")
            ended = {"result": known(self, as_object(params))}
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
            inner = as_object(arguments)
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
        asked = as_object(arguments)
        wanted, limit = word_set(str(asked.get("query", "")).replace("_", " ")), asked.get("limit")
        tools = list(self._find_tools())
        scores = [len(wanted & word_set(f"{tool['name']} {tool['description']}".replace("_", " "))) for tool in tools]
        found = sorted((place for place, score in enumerate(scores) if score or not wanted), key=lambda at: -scores[at])
        most = limit if isinstance(limit, int) and limit > 0 else MOST_FOUND
        return [tools[place] for place in found[:most]]

    @property
    def _skills(self) -> Mapping[str, str]:
        """The SKILL.md of each existing skill, in the version that the toolbox names, otherwise the default."""
        known = self._world.store.table(SKILLS)
        named = ((as_string(skill.get("name")), skill.get("version")) for skill in objects_in(self._version["skills"]))
        return {name: read_skill_file(known[name].package(version)) for name, version in named if name in known}

    def _describe(self, name: str) -> Json:
        skill = self._world.store.table(SKILLS)[name]
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


@rule(
    project_not_found("Toolbox '{name}'{version} not found"),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-agents for Java, ToolboxSamplesTests", "2026-05-29"),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects-agents for .NET, AgentsTests.TestToolboxesCRUD", "2026-04-15"),
    assumed("the words about a version"),
    on=(
        "GET /toolboxes/{name}*",
        "PATCH /toolboxes/{name}",
        "DELETE /toolboxes/{name}*",
        "POST /toolboxes/{name}:*",
        "POST /toolboxes/{name}*/mcp",
    ),
    rejects={
        "Toolbox 'other' not found": project_case("DELETE /toolboxes/other"),
        "Toolbox 'mine' version '2' not found": after(MAKE_TOOLBOX, project_case("GET /toolboxes/mine/versions/2")),
    },
    accepts=[after(MAKE_TOOLBOX, project_case("GET /toolboxes/mine"))],
    fix="Create it first: `POST /toolboxes/{name}/versions`, or `mock.toolbox(…)`.",
)
def toolbox_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A toolbox must exist, in the version that is requested or made the default."""
    yield from find_missing(request, world, TOOLBOXES)
