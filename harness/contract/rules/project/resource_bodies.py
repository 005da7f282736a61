"""A request that creates or changes a resource of a Foundry project must have the members that the service stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import CONTENT_TYPE
from harness.api.project.errors import project_error
from harness.api.project.skills import VERSIONED_SKILLS_SINCE
from harness.contract.rule import Source, WorldView, after, assumed, reported, rule
from harness.contract.rules.http.gateway import NO_ROUTE
from harness.contract.rules.project.resources import (
    MAKE_SKILL,
    MAKE_STORE,
    MAKE_TOOLBOX,
    project_case,
)
from harness.core.exchange import Json, Request

SKILL_UPDATE = "POST /skills/{name}"
SKILL_CREATION = "POST /skills"
_SKILL_MEMBERS: Mapping[str, type] = {"description": str, "instructions": str}
MEMBERS: Mapping[str, Mapping[str, type]] = {
    "POST /memory_stores": {"name": str, "definition": dict},
    "POST /memory_stores/{name}:update_memories": {"scope": str},
    "POST /memory_stores/{name}:search_memories": {"scope": str},
    "POST /memory_stores/{name}:delete_scope": {"scope": str},
    "POST /memory_stores/{name}/items": {"scope": str, "content": str},
    "POST /memory_stores/{name}/items:list": {"scope": str},
    "POST /memory_stores/{name}/items/{memory_id}": {"content": str},
    "POST /data_generation_jobs": {"name": str, "scenario": str, "sources": list, "generation_configuration": dict},
    "POST /toolboxes/{name}/versions": {"tools": list},
    "PATCH /toolboxes/{name}": {"default_version": str},
    SKILL_UPDATE: {"default_version": str},
    SKILL_CREATION: {"name": str, **_SKILL_MEMBERS},
}
"""The members that a body must have, by operation, and their types."""
SKILL_VERSION = "POST /skills/{name}/versions"
_NAMES: Mapping[type, str] = {
    str: "string",
    dict: "object",
    list: "array",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


@rule(
    on=SKILL_CREATION,
    dialects=FOUNDRY,
    error=NO_ROUTE,
    source=[
        Source("typed", "azure-ai-projects 2.10: a skill is made by its first version"),
        assumed("that the path of before is gone since the first day on which versions were recorded"),
    ],
    since=VERSIONED_SKILLS_SINCE,
    rejects=[project_case(SKILL_CREATION, {"name": "mine", "description": "Helps.", "instructions": "Help."})],
    accepts=[MAKE_SKILL],
    fix="Make a version: `POST /skills/{name}/versions`; `as_of` a day before 2026-05-28 has the path.",
)
def skill_without_version(request: Request) -> Iterator[Json]:
    """Since skills have versions, a skill is created by creating its first version."""
    yield {}


@rule(
    on=(*MEMBERS, SKILL_VERSION),
    dialects=FOUNDRY,
    error=project_error(400, "{message}", "{path}", "invalid_payload"),
    source=[
        Source("typed", "azure-ai-projects 2.10: what these requests require"),
        reported(
            "https://github.com/microsoft/agent-framework/issues/3003: the words, of a request to an agent", "2025-12"
        ),
        assumed("that these requests are told so, too"),
    ],
    rejects={
        'required: Required properties ["definition"] are not present': project_case(
            "POST /memory_stores", {"name": "mine"}
        ),
        'type: Value is "integer" but should be "string"': after(
            MAKE_STORE, project_case("POST /memory_stores/mine:delete_scope", {"scope": 5})
        ),
        'required: Required properties ["tools"] are not present': project_case("POST /toolboxes/mine/versions", {}),
        'required: Required properties ["inline_content"] are not present': project_case(
            "POST /skills/mine/versions", {}
        ),
    },
    accepts=[MAKE_STORE, MAKE_TOOLBOX, MAKE_SKILL],
    fix="Send the member, of this type.",
)
def resource_incomplete(request: Request, world: WorldView) -> Iterator[Json]:
    """A request that creates or changes a resource needs the members that the types of Microsoft's client require.

    Recorded 2026-04-17: before skills had versions, their update changed their texts.
    """
    body = request.body if isinstance(request.body, dict) else {}
    if request.operation == SKILL_UPDATE and world.as_of < VERSIONED_SKILLS_SINCE:
        return
    if request.operation != SKILL_VERSION:
        yield from _check_members(body, MEMBERS[request.operation], "/")
    elif request.headers.get("content-type", "").startswith(CONTENT_TYPE):
        yield from _check_members(body, {"files": list}, "/")
        if not all(isinstance(file, dict) for file in body["files"]):
            yield {"message": 'type: Value is "string" but should be "file"', "path": "/files"}
    else:
        yield from _check_members(body, {"inline_content": dict}, "/")
        yield from _check_members(body["inline_content"], _SKILL_MEMBERS, "/inline_content")


def _check_members(body: Any, members: Mapping[str, type], path: str) -> Iterator[Json]:
    for name, wanted in members.items():
        if name not in body:
            yield {"message": f'required: Required properties ["{name}"] are not present', "path": path}
        elif not isinstance(body[name], wanted):
            given = _NAMES.get(type(body[name]), "object")
            said = f'type: Value is "{given}" but should be "{_NAMES[wanted]}"'
            yield {"message": said, "path": f"{path.rstrip('/')}/{name}"}
