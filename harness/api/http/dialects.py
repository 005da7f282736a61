"""The dialect of a request: OpenAI, Azure OpenAI or a project in Azure AI Foundry.

It follows from the form of the path (see `harness.api.http.providers`). A dialect's errors are in the rules `gateway`,
`agents` and `filtered`, its answers in `harness.foundry`; otherwise OpenAI's rules apply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from harness.api.classic import omit_classic_members
from harness.api.http.providers import PROVIDERS, root_of
from harness.core.errors import ConfigError
from harness.core.exchange import Json, Request

OPENAI, AZURE, FOUNDRY = PROVIDERS
AZURE_DIALECTS = (AZURE, FOUNDRY)
API_ROOTS: Mapping[str, str] = {OPENAI: "/v1", AZURE: "/openai/v1", FOUNDRY: "/api/projects/harness/openai/v1"}
"""The root of the API in each dialect, in its newest form; the project's name is arbitrary."""

VERSION_PARAMETER = "api-version"
"""Azure's query parameter with the version of the API."""
FIRST_VERSION = "2025-03-01-preview"
"""The first version of Azure OpenAI with the Responses API."""
DATED_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
UNDATED_VERSIONS = ("v1", "preview", "latest")
BLOB_ROOT = "/_blobs"
"""The path of containers of files in a mocked project; the service has them at another host."""
AGENT_REFERENCE = "agent_reference"
_OPERATIONS_OF_AGENTS = ("POST /responses", "WS /responses")
AGENT_MEMBERS = (AGENT_REFERENCE, "agent")
"""Members by which a request to Foundry names an agent, which has its own model, instructions and tools."""
PREVIEW_OF_AGENTS = "2025-11-15-preview"
"""The version, before agents were final, of a project's paths without `/v1`."""
FOUNDRY_REQUEST_MEMBERS = (*AGENT_MEMBERS, "structured_inputs", "agent_session_id")
"""Members that only requests to Foundry have: besides the agent, template inputs and a session.

The inputs fill the templates of the agent's instructions (recorded 2026-03-17); the session is recorded 2026-07-01, at
the agent's own endpoint.
"""
_FOUNDRY_MEMBERS = frozenset({AGENT_REFERENCE, "created_by", "response_id"})
"""Members of items that only Foundry has."""
_AGENT_ENDPOINT = re.compile(r"/api/projects/[^/]+/(?:agents/([^/]+)/endpoint|applications/([^/]+))/protocols/")
"""The paths below a single agent, or below the application as which it is published."""
_PROJECT = re.compile(r"/api/projects/[^/]+(?=/(?!openai(?:/|$)))")
"""The root of a project, below which its agents and other resources are managed."""
_PER_DEPLOYMENT = re.compile(r"/openai/deployments/")


class ApiPath(NamedTuple):
    """The parts of a path: its dialect, the API's root (empty if the form is unknown) and the path below it."""

    dialect: str
    root: str
    endpoint_path: str


def check_dialect(name: str | None) -> str | None:
    """Return the name of a known dialect, or None for all dialects; ConfigError for an unknown name."""
    if name is not None and name not in PROVIDERS:
        raise ConfigError(f"dialect={name!r}: use one of {', '.join(PROVIDERS)}; leave it out for all of them.")
    return name


@lru_cache(maxsize=256)
def parse_api_path(path: str, only: str | None = None) -> ApiPath:
    """Parse a path; with `only`, a path of another dialect has an unknown form."""
    found = ApiPath(OPENAI, "/v1", path[3:]) if path.startswith("/v1/") else _parse_other_path(path, only)
    return found if only is None or found.dialect == only else ApiPath(only, "", path)


def _parse_other_path(path: str, only: str | None) -> ApiPath:
    """Parse a path outside `/v1`; one below a deployment (completions) is not mocked and has no root."""
    project = _PROJECT.match(path)
    root = "" if _PER_DEPLOYMENT.match(path) else root_of(path) or (project[0] if project else "")
    if path.startswith(("/api/projects/", "/agents/v1.0/")):
        dialect = FOUNDRY
    else:
        dialect = AZURE if path.startswith("/openai/") else only or OPENAI
    return ApiPath(dialect, root, path[len(root) :])


def api_version(request: Request) -> str:
    """Return the version in the query; the first one if there are two."""
    version = request.query.get(VERSION_PARAMETER) or ""
    return version if isinstance(version, str) else str(version[0])


def is_versioned(request: Request) -> bool:
    """Return whether the path has the API's version (`…/v1`) or is that of a blob, so that the query needs none."""
    return request.root.endswith("/v1") or request.path.startswith(f"{BLOB_ROOT}/")


def is_preview_of_agents(request: Request) -> bool:
    """Return whether a request asks Foundry for the version before agents were final; recorded 2025-11 to 2026-03."""
    return request.dialect == FOUNDRY and not is_versioned(request) and api_version(request) == PREVIEW_OF_AGENTS


def agent_of(request: Request) -> Any:
    """Return the agent that a request to Foundry names in its body or path; None if it names none."""
    if request.dialect != FOUNDRY or not isinstance(request.body, dict):
        return None
    if named := request.body.get(AGENT_REFERENCE) or request.body.get("agent"):
        return named
    endpoint = _AGENT_ENDPOINT.match(request.root)
    return {"type": AGENT_REFERENCE, "name": endpoint[1] or endpoint[2]} if endpoint else None


def application_of(request: Request) -> str:
    """Return the application in a request to a published agent; empty for any other."""
    endpoint = _AGENT_ENDPOINT.match(request.root) if request.dialect == FOUNDRY else None
    return (endpoint[2] or "") if endpoint else ""


USER_IDENTITY = "x-ms-user-identity"
"""The header by which a service names the user on whose behalf it sends a request to a project."""


def user_of(request: Request) -> str:
    """Return the user on whose behalf a request is sent; empty for the client itself."""
    return request.headers.get(USER_IDENTITY, "")


def is_at_agent_endpoint(request: Request) -> bool:
    """Return whether a request is sent to an agent's own endpoint, or to the application as which it is published."""
    return request.dialect == FOUNDRY and _AGENT_ENDPOINT.match(request.root) is not None


def apply_agent(request: Request, definition: Json | None) -> Request:
    """Apply the definition of its agent to a request to Foundry, and drop Foundry's members of items.

    Without a definition the model of an agent is `""`. A
    request may consist of only a conversation (recorded 2026-02-26 to 2026-06-26): its `input` is then empty.
    """
    body = request.body
    if request.dialect != FOUNDRY or not isinstance(body, dict):
        return request
    own = dict(body)
    if isinstance(items := body.get("input"), list):
        own["input"] = [_omit_foundry_members(item) for item in items]
    elif items is None and body.get("conversation") and request.operation.startswith(_OPERATIONS_OF_AGENTS):
        own["input"] = []
    if request.operation.startswith(_OPERATIONS_OF_AGENTS) and isinstance(agent := agent_of(request), dict):
        own = {
            "model": "",
            AGENT_REFERENCE: agent,
            **(definition or {}),
            **{name: value for name, value in own.items() if _is_set(name, value)},
        }
    return request._replace(body=own)


def _is_set(name: str, value: Any) -> bool:
    """Return whether a member of a request is set; public clients leave the model of an agent empty."""
    return value is not None and not (name == "model" and value == "")


def _omit_foundry_members(item: Any) -> Any:
    if not isinstance(item, dict) or _FOUNDRY_MEMBERS.isdisjoint(item):
        return item
    return {name: value for name, value in item.items() if name not in _FOUNDRY_MEMBERS}


FOUNDRY_QUERY = {"GET /conversations/{conversation_id}/items": ("item_type",)}
"""Query parameters that only a project has, by operation. Recorded 2026-02-12."""


def omit_dialect_members(request: Request) -> Any:
    """Omit the members of the request's dialect from the body, or else the query, for validation by the schema."""
    members = request.query if request.body is None else request.body
    if request.dialect == OPENAI or not isinstance(members, dict):
        return members
    if members is request.query:
        own = (VERSION_PARAMETER, *(FOUNDRY_QUERY.get(request.operation, ()) if request.dialect == FOUNDRY else ()))
    else:
        own = FOUNDRY_REQUEST_MEMBERS if request.dialect == FOUNDRY else ()
    shown = {name: value for name, value in members.items() if name not in own}
    return omit_classic_members(request.operation, shown) if request.dialect == FOUNDRY else shown
