"""The agents of a Foundry project, made and kept in versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from harness.api.http.dialects import FOUNDRY
from harness.api.project import agents as foundry_agents
from harness.contract.rule import Case, Source, WorldView, after, assumed, reported, rule
from harness.contract.rules.http.gateway import PROJECT_PATH
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

_AGENT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
ON_VERSIONS = f"POST !{PROJECT_PATH}/agents/helper/versions?api-version=v1"
CREATE_VERSION = Case({"definition": {"kind": "prompt", "model": "mine"}}, on=ON_VERSIONS)


@rule(
    on=("GET /agents/{agent_name}*", "DELETE /agents/{agent_name}*"),
    dialects=FOUNDRY,
    error=ApiError(404, "Agent {name} with version {version}not found.", code="not_found"),
    source=[
        reported("a public client's notes on agents of Foundry: the message without a version", "2026"),
        assumed("the place of the version, the code, and that reading an agent says it too"),
    ],
    rejects={
        "Agent other with version not found.": Case(None, on=f"GET !{PROJECT_PATH}/agents/other?api-version=v1"),
        "Agent helper with version 2 not found.": after(
            CREATE_VERSION, Case(None, on=f"GET !{PROJECT_PATH}/agents/helper/versions/2?api-version=v1")
        ),
    },
    accepts=[after(CREATE_VERSION, Case(None, on=f"GET !{PROJECT_PATH}/agents/helper?api-version=v1"))],
    fix="Make it first: `POST /agents/{name}/versions`, or `mock.organization(agents={…})`.",
)
def agent_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """An agent that is read or deleted must be there, in the version that is asked for."""
    yield from check_agent_exists(world, request.params["agent_name"], request.params.get("agent_version"))


def check_agent_exists(world: WorldView, name: str, version: str | None) -> Iterator[Json]:
    """Yield the facts of an agent, or a version of it, that does not exist."""
    known = [each["version"] for each in foundry_agents.versions_of(world, name)]
    if not known or (version is not None and version not in known):
        yield {"name": name, "version": f"{version} " if version is not None else ""}


@rule(
    on="POST /agents/{agent_name}/versions",
    dialects=FOUNDRY,
    error=ApiError(400, 'required: Required properties ["{name}"] are not present', "{path}", "invalid_payload"),
    source=[
        Source("typed", "azure-ai-projects 2.10: what a version and a prompt agent require"),
        assumed("the words, which are those for a reference to an agent"),
    ],
    rejects={
        'required: Required properties ["definition"] are not present': Case({"description": "x"}, on=ON_VERSIONS),
        'required: Required properties ["kind"] are not present': Case({"definition": {}}, on=ON_VERSIONS),
        'required: Required properties ["model"] are not present': Case(
            {"definition": {"kind": "prompt"}}, on=ON_VERSIONS
        ),
    },
    accepts=[CREATE_VERSION, Case({"definition": {"kind": "workflow"}}, on=ON_VERSIONS)],
    fix='Send `{"definition": {"kind": "prompt", "model": …}}`.',
)
def agent_version_incomplete(request: Request) -> Iterator[Json]:
    """A version of an agent has a definition of some kind, that of a prompt agent a model."""
    body = request.body if isinstance(request.body, dict) else {}
    definition = body.get("definition")
    if not isinstance(definition, dict):
        yield {"name": "definition", "path": "/"}
    elif not isinstance(definition.get("kind"), str):
        yield {"name": "kind", "path": "/definition"}
    elif definition["kind"] == "prompt" and not isinstance(definition.get("model"), str):
        yield {"name": "model", "path": "/definition"}


@rule(
    on="POST /agents/{agent_name}/versions",
    dialects=FOUNDRY,
    error=ApiError(
        400,
        "Invalid agent name '{name}'. It must start and end with alphanumeric characters, can contain hyphens in the "
        "middle, and must not exceed 63 characters.",
        "agent_name",
        "invalid_parameters",
    ),
    source=[Source("typed", "azure-ai-projects 2.10: what a name may be"), assumed("the words")],
    rejects={
        "Invalid agent name 'my_agent'. It must start and end with alphanumeric characters, can contain hyphens in the "
        "middle, and must not exceed 63 characters.": replace(
            CREATE_VERSION, on=f"POST !{PROJECT_PATH}/agents/my_agent/versions?api-version=v1"
        )
    },
    accepts=[CREATE_VERSION],
    fix="Use letters, digits and hyphens, say `my-agent`.",
)
def agent_name_invalid(request: Request) -> Iterator[Json]:
    """The name of an agent is at most 63 letters and digits, with hyphens between them."""
    name = request.params["agent_name"]
    if not _AGENT_NAME.fullmatch(name):
        yield {"name": name}
