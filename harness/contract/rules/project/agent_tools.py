"""The tools in the definition of an agent of a Foundry project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.api.http.dialects import FOUNDRY
from harness.api.project.errors import project_error
from harness.contract.rule import Case, WorldView, assumed, recorded, reported, rule
from harness.contract.rules.project.agents import ON_VERSIONS
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, as_string, objects_in

ENDINGS_SINCE = "2026-04-21"
"""The first day on which headers are also recognized by the ends of their names."""
_SECRET_ENDINGS = ("-key", "-secret", "-token")


def _with_headers(**headers: str) -> Case:
    """Make an example that adds a version of an agent with these headers for its server; `_` stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    server: Json = {"type": "mcp", "server_label": "crm", "server_url": "https://mcp.example.org", "headers": named}
    return Case({"definition": {"kind": "prompt", "model": "mine", "tools": [server]}}, on=ON_VERSIONS)


@rule(
    on="POST /agents*",
    dialects=FOUNDRY,
    error=project_error(
        400,
        "Headers that can include sensitive information are not allowed in the headers property for MCP tools. Use "
        "project_connection_id instead.",
    ),
    source=[
        reported("https://github.com/microsoft/agent-framework/issues/3299", "2026-01-20"),
        reported(
            "https://github.com/zscaler/zscaler-mcp-server/pull/51: Authorization, *-Secret, *-Key, *-Token, the code",
            ENDINGS_SINCE,
        ),
        assumed("that there is no param, and that a request with a model is not looked at"),
    ],
    rejects=[_with_headers(Authorization="Bearer t")],
    accepts=[_with_headers(X_Client_ID="c", X_Tokens="2"), _with_headers()],
    since="2026-01-20",
    fix="Make a connection of the project that holds the secret, and name it in `project_connection_id`.",
)
def agent_mcp_headers(request: Request, world: WorldView) -> Iterator[Json]:
    """A header for an MCP server in an agent's definition must not contain a secret, judging by its name."""
    definition = as_object(as_object(request.body).get("definition"))
    endings = _SECRET_ENDINGS if world.as_of >= ENDINGS_SINCE else ()
    for tool in objects_in(definition.get("tools")):
        names = (
            [as_string(name).lower() for name in as_object(tool.get("headers"))] if tool.get("type") == "mcp" else ()
        )
        if any(name == "authorization" or name.endswith(endings) for name in names):
            yield {}


URL_NAMED_SINCE = "2026-06-29"
"""The first day on which the error names the URL."""
_TEMPLATE = "{{server_url}}"
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match


def _with_server(url: str, as_of: str = "") -> Case:
    """Make an example that adds a version of an agent with an MCP server at a URL, one of its structured inputs."""
    server: Json = {"type": "mcp", "server_label": "crm", "server_url": url, "require_approval": "never"}
    inputs = {"server_url": {"description": "The server.", "required": True, "schema": {"type": "string"}}}
    definition = {"kind": "prompt", "model": "mine", "tools": [server], "structured_inputs": inputs}
    return Case({"definition": definition}, on=ON_VERSIONS, as_of=as_of)


@rule(
    on="POST /agents*",
    dialects=FOUNDRY,
    until="2026-06-28",
    error=project_error(400, "The supplied value is invalid.", ""),
    source=[
        recorded("Azure/azure-sdk-assets, sample_agent_mcp_structured_inputs and one more: a template", "2026-03-31"),
        assumed("that whatever is no URL with a scheme is told so"),
    ],
    rejects=[_with_server(_TEMPLATE, "2026-03-31")],
    accepts=[_with_server("https://mcp.example.org/{{path}}", "2026-03-31")],
    fix="Send the URL itself: of an MCP tool all members but this one may be templates.",
)
def agent_mcp_url_invalid(request: Request) -> Iterator[Json]:
    """The message until 2026-06 for an MCP server in an agent's definition that is no URL."""
    yield from ({} for _ in _servers_without_url(request))


@rule(
    on="POST /agents*",
    dialects=FOUNDRY,
    since=URL_NAMED_SINCE,
    error=project_error(400, "format: '{url}' is not a valid URI", "/definition/tools/{index}/server_url"),
    source=[
        reported("https://github.com/Azure/azure-sdk-for-python/issues/47684: a template", URL_NAMED_SINCE),
        assumed("that whatever is no URL with a scheme is told so"),
    ],
    rejects={f"format: '{_TEMPLATE}' is not a valid URI": _with_server(_TEMPLATE)},
    accepts=[_with_server("https://mcp.example.org/{{path}}"), _with_server("localhost:8000")],
    fix="Send the URL itself: of an MCP tool all members but this one may be templates.",
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
