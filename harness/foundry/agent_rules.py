"""Refusals of requests about a project's agents, and about the tools in their definitions."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.contract.rule import (
    LIMITED_ACCOUNT,
    Case,
    RuleScope,
    Source,
    WorldView,
    after,
    assumed,
    documented,
    recorded,
    reported,
    rule,
)
from harness.contract.schema import json_type
from harness.core.account import Organization
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.foundry.agent_versions import (
    AGENT_CODE,
    AGENT_NAME,
    MAKING_VERSIONS,
    check_agent_exists,
    newest_version,
    sent_version,
    versions_of,
)
from harness.foundry.resources import has_type, lacks, project_case, project_error, project_not_found

SCOPE = RuleScope(area="agents", dialects=FOUNDRY)


def version_case(definition: Json, **members: Any) -> Case:
    """Make an example that adds a version with this definition to the agent `helper`."""
    return project_case("POST /agents/helper/versions", {"definition": definition}, **members)


PROMPT: Json = {"kind": "prompt", "model": "mine"}
CREATE_VERSION, CREATE_HOSTED = version_case(PROMPT), version_case({"kind": "hosted"})
LEARN_PAGES = "https://learn.microsoft.com/azure/foundry/agents/how-to"
EXISTING_AGENT = (
    *("GET /agents/{agent_name}*", "DELETE /agents/{agent_name}*", "PATCH /agents/{agent_name}*"),
    *("POST /agents/{agent_name}", "POST /agents/{agent_name}:*", "* /agents/{agent_name}/endpoint/sessions*"),
)


@rule(
    project_not_found("Agent {name} doesn't exist"),
    recorded("azure-sdk-assets: .NET, AgentsTests.ErrorsGiveGoodExceptionMessages", "2026-04-07"),
    on="GET /agents/{agent_name}",
    rejects={"other": project_case("GET /agents/other")},
    accepts=[after(CREATE_VERSION, project_case("GET /agents/helper"))],
    fix="Create it first: `POST /agents/{name}/versions`, or `mock.organization(agents={…})`.",
)
def agent_not_there(request: Request, world: WorldView) -> Iterator[Json]:
    """Agents that are read must exist."""
    yield from check_agent_exists(world, request.params["agent_name"], None)


@rule(
    project_not_found("Agent {name} with version {version}not found"),
    recorded("azure-sdk-assets: .NET, AgentsTests.TestAgentCRUD", "2026-04-07"),
    reported("public notes of a workshop: of an unknown agent, too", "2026-05"),
    on="GET /agents/{agent_name}/versions/{agent_version}",
    rejects={
        "Agent other with version 2 not found": project_case("GET /agents/other/versions/2"),
        "Agent helper with version 2 not found": after(CREATE_VERSION, project_case("GET /agents/helper/versions/2")),
    },
    accepts=[after(CREATE_VERSION, project_case("GET /agents/helper/versions/1"))],
    fix="Read a version that the agent has: `GET /agents/{name}/versions` lists them.",
)
def agent_version_not_there(request: Request, world: WorldView) -> Iterator[Json]:
    """Versions of agents that are read must exist."""
    yield from check_agent_exists(world, request.params["agent_name"], request.params["agent_version"])


@rule(
    project_error(404, "Agent not found", code="not_found", type="error"),
    recorded("azure-sdk-assets: Java, AgentsAsyncTests.promptAgentTest, DELETE of a version", "2026-02-12"),
    assumed("that every operation on an agent has this error"),
    on=EXISTING_AGENT,
    rejects=[project_case("DELETE /agents/other/versions/1")],
    accepts=[after(CREATE_VERSION, project_case("GET /agents/helper"))],
    fix="Create it first: `POST /agents/{name}/versions`, or `mock.organization(agents={…})`.",
)
def agent_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Agents that are read, changed or deleted must exist, in the requested version."""
    indicator = as_object(as_object(request.body).get("version_indicator")).get("agent_version")
    version = request.params.get("agent_version", request.query.get("agent_version", indicator))
    yield from check_agent_exists(world, request.params["agent_name"], version)


@rule(
    project_error(
        409, "Agent '{name}' version '{version}' is not made of code.", code="AgentNotCodeBased", type="error"
    ),
    documented(f"{LEARN_PAGES}/deploy-hosted-agent-code: status and code", "2026-05"),
    assumed("the words"),
    on="GET /agents/{agent_name}/code:download",
    rejects={("helper", "1"): after(CREATE_VERSION, project_case("GET /agents/helper/code:download"))},
    fix="Only an agent created from a zip has code to read.",
)
def agent_not_of_code(request: Request, world: WorldView) -> Iterator[Json]:
    """Code can only be read from a version that was created from code."""
    name = request.params["agent_name"]
    newest = newest_version(versions_of(world, name))["version"]
    version = request.query.get("agent_version") or newest
    if f"{name}:{version}" not in world.store.table(AGENT_CODE):
        yield {"name": name, "version": version}


@rule(
    project_error(400, lacks("{name}"), "{path}"),
    Source("typed", "azure-ai-projects 2.10: what an agent, a version and a prompt agent require"),
    assumed("the words, which are those for a reference to an agent"),
    on=MAKING_VERSIONS,
    rejects={
        lacks("name"): project_case("POST /agents", {"definition": {"kind": "prompt", "model": "mine"}}),
        lacks("definition"): project_case("POST /agents/helper/versions", {"description": "x"}),
        lacks("kind"): version_case({}),
        lacks("model"): version_case({"kind": "prompt"}),
    },
    accepts=[CREATE_VERSION, CREATE_HOSTED],
    fix='Send `{"definition": {"kind": "prompt", "model": …}}`.',
)
def agent_version_incomplete(request: Request) -> Iterator[Json]:
    """An agent's version needs a definition with a kind, a prompt agent's also a model; a new agent needs a name."""
    body = as_object(sent_version(request))
    definition = body.get("definition")
    if request.operation == "POST /agents" and not isinstance(body.get("name"), str):
        yield {"name": "name", "path": "/"}
    if not isinstance(definition, dict):
        yield {"name": "definition", "path": "/"}
    elif not isinstance(definition.get("kind"), str):
        yield {"name": "kind", "path": "/definition"}
    elif definition["kind"] == "prompt" and not isinstance(definition.get("model"), str):
        yield {"name": "model", "path": "/definition"}


_TYPES: dict[str, tuple[str, ...]] = {
    "description": ("string",),
    "metadata": ("object",),
    "definition.instructions": ("string",),
    "definition.tools": ("array",),
    "definition.tools.*": ("object",),
    "definition.tools.*.type": ("string",),
    "definition.tool_choice": ("string", "object"),
    "definition.temperature": ("number", "integer"),
    "definition.top_p": ("number", "integer"),
    "definition.text": ("object",),
    "definition.reasoning": ("object",),
    "definition.structured_inputs": ("object",),
    "definition.structured_inputs.*": ("object",),
    "definition.code_configuration": ("object",),
    "blueprint_reference": ("object",),
    "manifest_id": ("string",),
    "parameter_values": ("object",),
    "agent_endpoint": ("object",),
    "agent_endpoint.version_selector": ("object",),
    "agent_endpoint.version_selector.version_selection_rules": ("array",),
    "agent_endpoint.version_selector.version_selection_rules.*": ("object",),
    "agent_endpoint.version_selector.version_selection_rules.*.agent_version": ("string",),
    "agent_endpoint.version_selector.version_selection_rules.*.traffic_percentage": ("integer",),
    "agent_endpoint.protocol_configuration": ("object",),
    "agent_card": ("object",),
}
"""The JSON types of members that describe an agent; null and absent ones are accepted."""


@rule(
    project_error(400, has_type("{actual}", "{expected}"), "{path}"),
    reported("https://github.com/microsoft/agent-framework/issues/3003: the words, of an input", "2025-12-22"),
    Source("typed", "azure-ai-projects 2.10: the types of the members"),
    assumed("that a definition gets the error of an input"),
    on=(*MAKING_VERSIONS, "POST /agents/{agent_name}/versions:import", "PATCH /agents/{agent_name}"),
    rejects={
        has_type("string", "array"): version_case({**PROMPT, "tools": "web_search"}),
        has_type("array", "object"): after(
            CREATE_VERSION, project_case("PATCH /agents/helper", {"agent_endpoint": []})
        ),
    },
    accepts=[
        version_case({**PROMPT, "tools": [], "text": None}),
        after(CREATE_VERSION, project_case("PATCH /agents/helper", {"agent_endpoint": None})),
    ],
    fix="Send each member in the type that the SDK has for it.",
)
def agent_member_type(request: Request) -> Iterator[Json]:
    """The members that define or configure an agent must have the SDK's types."""
    body = as_object(sent_version(request))
    for path, types in _TYPES.items():
        for place, value in _values_at(body, path.split("."), ""):
            actual = json_type(value)
            if actual not in (*types, "null"):
                yield {"actual": actual, "expected": types[0], "path": place}


def _values_at(part: Any, path: list[str], place: str) -> Iterator[tuple[str, Any]]:
    """Yield each value at a path of member names (`*` for any member or element), with its place as a JSON pointer."""
    if not path:
        yield place, part
        return
    name, *rest = path
    members = dict(enumerate(part)) if isinstance(part, list) and name == "*" else as_object(part)
    for member, value in members.items():
        if name in ("*", member):
            yield from _values_at(value, rest, f"{place}/{member}")


@rule(
    project_error(
        400,
        "Invalid agent name '{name}'. It must start and end with alphanumeric characters, can contain hyphens in the "
        "middle, and must not exceed 63 characters.",
        "agent_name",
        "invalid_parameters",
    ),
    Source("typed", "azure-ai-projects 2.10: what a name may be"),
    assumed("the words"),
    on=(*MAKING_VERSIONS, "POST /agents/{agent_name}/versions:import"),
    rejects={"my_agent": project_case("POST /agents/my_agent/versions", {"definition": PROMPT})},
    accepts=[CREATE_VERSION],
    fix="Use letters, digits and hyphens, say `my-agent`.",
)
def agent_name_invalid(request: Request) -> Iterator[Json]:
    """The name of an agent consists of at most 63 letters and digits, with hyphens between them."""
    name = request.params.get("agent_name") or as_object(request.body).get("name")
    if isinstance(name, str) and not AGENT_NAME.fullmatch(name):
        yield {"name": name}


@rule(
    project_error(
        409, "The resource already exists or was modified concurrently. Please retry.", code="conflict", type="error"
    ),
    reported("https://github.com/Azure/azure-sdk-for-net/issues/58060", "2026-04-10"),
    assumed("that every way to create a version gets this error"),
    when=LIMITED_ACCOUNT,
    on=(*MAKING_VERSIONS, "POST /agents/{agent_name}/versions:import"),
    rejects=[replace(CREATE_VERSION, account=Organization(locked=frozenset({"helper"})))],
    accepts=[replace(CREATE_VERSION, account=Organization(locked=frozenset({"other"})))],
    fix="Try again: `mock.organization(locked={…})` says which agents another request is changing.",
)
def agent_conflict(request: Request, world: WorldView) -> bool:
    """An agent that another request is changing cannot get a version meanwhile."""
    name = request.params.get("agent_name") or as_object(request.body).get("name")
    return name in world.account.locked


@rule(
    project_error(
        400,
        "Unsupported region for Foundry Hosted Agents. Please check the region availability and try again.",
        code="invalid_request_error",
    ),
    reported("https://github.com/microsoft/foundry-for-vscode/issues/589", "2026-05"),
    assumed("the code"),
    when=LIMITED_ACCOUNT,
    on=MAKING_VERSIONS,
    rejects=[replace(CREATE_HOSTED, account=Organization(hosts_agents=False))],
    accepts=[replace(CREATE_VERSION, account=Organization(hosts_agents=False))],
    fix="Use a project in a region that hosts agents; here `mock.organization(hosts_agents=True)`.",
)
def hosted_agents_unsupported(request: Request, world: WorldView) -> bool:
    """Agents can be hosted only in some regions."""
    definition = as_object(as_object(sent_version(request)).get("definition"))
    return not world.account.hosts_agents and definition.get("kind") == "hosted"


ENDINGS_SINCE = "2026-04-21"
"""The first day on which headers are also recognized by the ends of their names."""
_SECRET_ENDINGS = ("-key", "-secret", "-token")


def _with_headers(**headers: str) -> Case:
    """Make an example that adds a version of an agent with these headers for its server; `_` stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    server: Json = {"type": "mcp", "server_label": "crm", "server_url": "https://mcp.example.org", "headers": named}
    return version_case({**PROMPT, "tools": [server]})


@rule(
    project_error(
        400,
        "Headers that can include sensitive information are not allowed in the headers property for MCP tools. Use "
        "project_connection_id instead.",
    ),
    reported("https://github.com/microsoft/agent-framework/issues/3299", "2026-01-20"),
    reported(
        "https://github.com/zscaler/zscaler-mcp-server/pull/51: Authorization, *-Secret, *-Key, *-Token, the code",
        ENDINGS_SINCE,
    ),
    assumed("that there is no param, and that a request with a model is not looked at"),
    area="agent_tools",
    on="POST /agents*",
    rejects=[_with_headers(Authorization="Bearer t")],
    accepts=[_with_headers(X_Client_ID="c", X_Tokens="2"), _with_headers()],
    since="2026-01-20",
    fix="Create a connection in the project that holds the secret, and name it in `project_connection_id`.",
)
def agent_mcp_headers(request: Request, world: WorldView) -> bool:
    """A header for an MCP server in an agent's definition must not contain a secret, judging by its name."""
    definition = as_object(as_object(request.body).get("definition"))
    endings = _SECRET_ENDINGS if world.as_of >= ENDINGS_SINCE else ()
    servers = [tool for tool in objects_in(definition.get("tools")) if tool.get("type") == "mcp"]
    names = [as_string(name).lower() for tool in servers for name in as_object(tool.get("headers"))]
    return any(name == "authorization" or name.endswith(endings) for name in names)


URL_NAMED_SINCE = "2026-06-29"
"""The first day on which the error names the URL."""
_TEMPLATE = "{{server_url}}"
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match


def _with_server(url: str, as_of: str = "") -> Case:
    """Make an example that adds a version of an agent with an MCP server at a URL, one of its structured inputs."""
    server: Json = {"type": "mcp", "server_label": "crm", "server_url": url, "require_approval": "never"}
    inputs = {"server_url": {"description": "The server.", "required": True, "schema": {"type": "string"}}}
    return version_case({**PROMPT, "tools": [server], "structured_inputs": inputs}, as_of=as_of)


@rule(
    project_error(400, "The supplied value is invalid.", ""),
    recorded("Azure/azure-sdk-assets, sample_agent_mcp_structured_inputs and one more: a template", "2026-03-31"),
    assumed("that anything but a URL with a scheme gets this error"),
    area="agent_tools",
    on="POST /agents*",
    until="2026-06-28",
    rejects=[_with_server(_TEMPLATE, "2026-03-31")],
    accepts=[_with_server("https://mcp.example.org/{{path}}", "2026-03-31")],
    fix="Send the URL itself: it is the only member of an MCP tool that cannot be a template.",
)
def agent_mcp_url_invalid(request: Request) -> bool:
    """The message until 2026-06 for an MCP server in an agent's definition that is no URL."""
    return any(True for _ in _servers_without_url(request))


@rule(
    project_error(400, "format: '{url}' is not a valid URI", "/definition/tools/{index}/server_url"),
    reported("https://github.com/Azure/azure-sdk-for-python/issues/47684: a template", URL_NAMED_SINCE),
    assumed("that anything but a URL with a scheme gets this error"),
    area="agent_tools",
    on="POST /agents*",
    since=URL_NAMED_SINCE,
    rejects={f"format: '{_TEMPLATE}' is not a valid URI": _with_server(_TEMPLATE)},
    accepts=[_with_server("https://mcp.example.org/{{path}}"), _with_server("localhost:8000")],
    fix="Send the URL itself: it is the only member of an MCP tool that cannot be a template.",
)
def agent_mcp_url(request: Request) -> Iterator[Json]:
    """An MCP server in an agent's definition has a URL, which cannot be a template as its other members can."""
    yield from _servers_without_url(request)


def _servers_without_url(request: Request) -> Iterator[Json]:
    definition = as_object(as_object(request.body).get("definition"))
    for index, tool in enumerate(objects_in(definition.get("tools"))):
        url = tool.get("server_url")
        if tool.get("type") == "mcp" and isinstance(url, str) and not _HAS_SCHEME(url):
            yield {"index": index, "url": url}
