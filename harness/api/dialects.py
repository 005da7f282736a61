"""Which dialect a request speaks: that of OpenAI, of Azure OpenAI or of a project in Azure AI Foundry.

The form of the path decides, as `origin` knows it. What a dialect refuses in its own words is in `rules.gateway`,
`rules.agents` and `rules.filtered`, how it answers in `azure`; for all the rest the rules of OpenAI hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.api.providers import PROVIDERS, root_of
from harness.core.errors import ConfigError
from harness.core.exchange import Json, Request

OPENAI, AZURE, FOUNDRY = PROVIDERS
AZURE_DIALECTS = (AZURE, FOUNDRY)
API_ROOTS: Mapping[str, str] = {OPENAI: "/v1", AZURE: "/openai/v1", FOUNDRY: "/api/projects/harness/openai/v1"}
"""Where the API begins in each dialect, in its newest form; any name will do for the project."""

VERSION_PARAMETER = "api-version"
"""Where the query of a request to Azure says the version of the API."""
AGENT_REFERENCE = "agent_reference"
AGENT_MEMBERS = (AGENT_REFERENCE, "agent")
"""Members by which a request to Foundry names an agent, which brings a model, instructions and tools of its own."""
_FOUNDRY_MEMBERS = frozenset({AGENT_REFERENCE, "created_by", "response_id"})
"""What Foundry writes on items and OpenAI does not know."""
_AGENT_ENDPOINT = re.compile(r"/api/projects/[^/]+/agents/([^/]+)/endpoint/")
"""The paths of an agent of its own, which the SDK for projects makes."""
_PROJECT_WITH_AGENTS = re.compile(r"/api/projects/[^/]+(?=/agents(?:/|$))")
"""Where a project itself begins, whose agents are managed below it."""
_PER_DEPLOYMENT = re.compile(r"/openai/deployments/")


class ApiPath(NamedTuple):
    """A path taken apart: its dialect, the root of the API, what is below it; of no known form the root is empty."""

    dialect: str
    root: str
    endpoint_path: str


def check_dialect(name: str | None) -> str | None:
    """A dialect that somebody asked for by name, None for all; ConfigError when there is none of that name."""
    if name is not None and name not in PROVIDERS:
        raise ConfigError(f"dialect={name!r}: it is one of {', '.join(PROVIDERS)}; leave it out for all of them.")
    return name


def parse_api_path(path: str, only: str | None = None) -> ApiPath:
    """Where a path leads; with `only` a path of another dialect leads nowhere in that one."""
    found = ApiPath(OPENAI, "/v1", path[3:]) if path.startswith("/v1/") else _parse_other_path(path, only)
    return found if only is None or found.dialect == only else ApiPath(only, "", path)


def _parse_other_path(path: str, only: str | None) -> ApiPath:
    """Only completions and their like are asked for below a deployment, none of which is answered here."""
    managed = _PROJECT_WITH_AGENTS.match(path)
    root = "" if _PER_DEPLOYMENT.match(path) else root_of(path) or (managed[0] if managed else "")
    if path.startswith(("/api/projects/", "/agents/v1.0/")):
        dialect = FOUNDRY
    else:
        dialect = AZURE if path.startswith("/openai/") else only or OPENAI
    return ApiPath(dialect, root, path[len(root) :])


def is_versioned(request: Request) -> bool:
    """Whether the path says the version of the API (`…/v1`), so that the query need not."""
    return request.root.endswith("/v1")


def agent_of(request: Request) -> Any:
    """What a request to Foundry says of its agent, in its body or by its path; None when it names none."""
    if request.dialect != FOUNDRY or not isinstance(request.body, dict):
        return None
    if named := request.body.get(AGENT_REFERENCE) or request.body.get("agent"):
        return named
    endpoint = _AGENT_ENDPOINT.match(request.root)
    return {"type": AGENT_REFERENCE, "name": endpoint[1]} if endpoint else None


def apply_agent(request: Request, agents: Mapping[str, Json] | None) -> Request:
    """A request to Foundry with what its agent brings, and its items without Foundry's marks; any other as it is.

    `agents` are the definitions of the known ones by name: `model`, `instructions`, `tools`. The model of others is `""`.
    """
    body = request.body
    if request.dialect != FOUNDRY or not isinstance(body, dict):
        return request
    own = dict(body)
    if isinstance(items := body.get("input"), list):
        own["input"] = [_omit_foundry_members(item) for item in items]
    if isinstance(agent := agent_of(request), dict):
        definition = (agents or {}).get(str(agent.get("name")), {})
        own = {
            "model": "",
            AGENT_REFERENCE: agent,
            **definition,
            **{name: value for name, value in own.items() if _is_set(name, value)},
        }
    return request._replace(body=own)


def _is_set(name: str, value: Any) -> bool:
    """Whether a member of a request says something; public clients leave the model of an agent empty."""
    return value is not None and not (name == "model" and value == "")


def _omit_foundry_members(item: Any) -> Any:
    if not isinstance(item, dict) or _FOUNDRY_MEMBERS.isdisjoint(item):
        return item
    return {name: value for name, value in item.items() if name not in _FOUNDRY_MEMBERS}


def omit_dialect_members(request: Request) -> Any:
    """What the schema judges, the body or else the query, without the members that only the request's dialect knows."""
    members = request.query if request.body is None else request.body
    if request.dialect == OPENAI or not isinstance(members, dict):
        return members
    own = (VERSION_PARAMETER,) if members is request.query else AGENT_MEMBERS if request.dialect == FOUNDRY else ()
    return {name: value for name, value in members.items() if name not in own}
