"""Refusals that several of a project's resources share: members that a body lacks, objects that do not exist, files."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from posixpath import splitext
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import CONTENT_TYPE
from harness.contract.rule import Case, RuleScope, Source, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import PROJECT_PATH, upload
from harness.contract.rules.stored.vector_stores import STORE_PATH
from harness.contract.schema import json_type
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
from harness.foundry.agent_rules import CREATE_VERSION
from harness.foundry.agent_sessions import (
    AGENT_SESSIONS,
    CREATE_SESSION,
    READ_SESSION_FILE,
    UPLOAD_SESSION_FILE,
    files_below,
    normalize_path,
    session_key,
)
from harness.foundry.assets import GENERATION_JOBS
from harness.foundry.memory_stores import MAKE_STORE, MEMORY_STORES
from harness.foundry.resources import ASSETS_REPOSITORY, has_type, lacks, project_case, project_error, project_not_found
from harness.foundry.skills import MAKE_SKILL, VERSIONED_SKILLS_SINCE
from harness.foundry.toolboxes import MAKE_TOOLBOX

SCOPE = RuleScope(area="resource_bodies", dialects=FOUNDRY)
SKILL_UPDATE = "POST /skills/{name}"
SKILL_CREATION = "POST /skills"
_SKILL_MEMBERS: Mapping[str, str] = {"description": "string", "instructions": "string"}
MEMBERS: Mapping[str, Mapping[str, str]] = {
    "POST /memory_stores": {"name": "string", "definition": "object"},
    "POST /memory_stores/{name}:update_memories": {"scope": "string"},
    "POST /memory_stores/{name}:search_memories": {"scope": "string"},
    "POST /memory_stores/{name}:delete_scope": {"scope": "string"},
    "POST /memory_stores/{name}/items": {"scope": "string", "content": "string"},
    "POST /memory_stores/{name}/items:list": {"scope": "string"},
    "POST /memory_stores/{name}/items/{memory_id}": {"content": "string"},
    "POST /data_generation_jobs": {
        "name": "string",
        "scenario": "string",
        "sources": "array",
        "generation_configuration": "object",
    },
    "POST /toolboxes/{name}/versions": {"tools": "array"},
    "PATCH /toolboxes/{name}": {"default_version": "string"},
    SKILL_UPDATE: {"default_version": "string"},
    SKILL_CREATION: {"name": "string", **_SKILL_MEMBERS},
}
"""The members that a body must have, by operation, and their types."""
SKILL_VERSION = "POST /skills/{name}/versions"


@rule(
    project_error(400, "{message}", "{path}", "invalid_payload"),
    Source("typed", "azure-ai-projects 2.10: what these requests require"),
    reported(
        "https://github.com/microsoft/agent-framework/issues/3003: the words, of a request to an agent", "2025-12"
    ),
    assumed("that these requests get the same error"),
    on=(*MEMBERS, SKILL_VERSION),
    rejects={
        lacks("definition"): project_case("POST /memory_stores", {"name": "mine"}),
        has_type("integer", "string"): after(
            MAKE_STORE, project_case("POST /memory_stores/mine:delete_scope", {"scope": 5})
        ),
        lacks("tools"): project_case("POST /toolboxes/mine/versions", {}),
        lacks("inline_content"): project_case("POST /skills/mine/versions", {}),
    },
    accepts=[MAKE_STORE, MAKE_TOOLBOX, MAKE_SKILL],
    fix="Send the member, of this type.",
)
def resource_incomplete(request: Request, world: WorldView) -> Iterator[Json]:
    """A request that creates or changes a resource needs the members that the types of Microsoft's client require.

    Recorded 2026-04-17: before skills had versions, their update changed their texts.
    """
    body = as_object(request.body)
    if request.operation == SKILL_UPDATE and world.as_of < VERSIONED_SKILLS_SINCE:
        return
    if request.operation != SKILL_VERSION:
        yield from _check_members(body, MEMBERS[request.operation], "/")
    elif request.headers.get("content-type", "").startswith(CONTENT_TYPE):
        yield from _check_members(body, {"files": "array"}, "/")
        if not all(isinstance(file, dict) for file in body["files"]):
            yield {"message": has_type("string", "file"), "path": "/files"}
    else:
        yield from _check_members(body, {"inline_content": "object"}, "/")
        yield from _check_members(body["inline_content"], _SKILL_MEMBERS, "/inline_content")


def _check_members(body: Any, members: Mapping[str, str], path: str) -> Iterator[Json]:
    for name, wanted in members.items():
        if name not in body:
            yield {"message": lacks(name), "path": path}
        elif (given := json_type(body[name])) != wanted:
            yield {"message": has_type(given, wanted), "path": f"{path.rstrip('/')}/{name}"}


@rule(
    project_not_found("{kind} '{id}' not found"),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Python, sample_memory_crud: of a memory store", "2026-02-21"),
    assumed("that these have this error, too"),
    area="objects",
    on=(
        *("* /memory_stores/{name}/items/{memory_id}", "* /memory_stores/{name}/updates/{update_id}"),
        *("* /data_generation_jobs/{job_id}*", "GET *{session_id}/files/content", "DELETE *{session_id}/files"),
    ),
    rejects={
        ("Memory", "mem_1"): after(MAKE_STORE, project_case("GET /memory_stores/mine/items/mem_1")),
        ("MemoryStoreUpdate", "x"): after(MAKE_STORE, project_case("GET /memory_stores/mine/updates/x")),
        ("DataGenerationJob", "other"): project_case("GET /data_generation_jobs/other"),
        ("File", "b.txt"): after(CREATE_VERSION, CREATE_SESSION, project_case(f"{READ_SESSION_FILE}b.txt")),
    },
    accepts=[
        after(CREATE_VERSION, CREATE_SESSION, UPLOAD_SESSION_FILE, project_case(f"{READ_SESSION_FILE}/notes/./a.txt"))
    ],
    fix="Take the id from the answer to the request that created it; upload the file of a session first.",
)
def project_object_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Memories and their updates, jobs that generate data, and files of sessions must exist in the project."""
    params, table = request.params, world.store.table
    if "memory_id" in params and params["memory_id"] not in table(MEMORY_STORES)[params["name"]].items:
        yield {"kind": "Memory", "id": params["memory_id"]}
    if "update_id" in params and params["update_id"] not in table(MEMORY_STORES)[params["name"]].updates:
        yield {"kind": "MemoryStoreUpdate", "id": params["update_id"]}
    if "job_id" in params and params["job_id"] not in table(GENERATION_JOBS):
        yield {"kind": "DataGenerationJob", "id": params["job_id"]}
    if "session_id" in params:
        session = table(AGENT_SESSIONS)[session_key(params["agent_name"], params["session_id"])]
        path = request.query["path"]
        if not (normalize_path(path) in session.files if request.method == "GET" else files_below(session, path)):
            yield {"kind": "File", "id": path}


def _attach(name: str) -> Case:
    """Make an example that adds a file of this name to a project's vector store."""
    uploaded = upload("purpose=assistants", name=name)
    root = f"!{PROJECT_PATH}/openai/v1"
    return after(
        replace(uploaded, on=f"POST {root}/files"),
        Case({}, on=f"POST {root}/vector_stores"),
        Case({"file_id": "{0.id}"}, on=f"POST {root}/vector_stores/{{1.id}}/files"),
    )


SEARCHABLE_EXTENSIONS = (
    *(".c", ".cpp", ".cs", ".css", ".doc", ".docx", ".go", ".html", ".java", ".js", ".json", ".md", ".pdf", ".php"),
    *(".pptx", ".py", ".rb", ".sh", ".tex", ".ts", ".txt"),
)
"""The extensions of files that a project's vector stores accept."""


@rule(
    bad_request(
        "Files with extensions [{extension}] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].",
        "file_id",
        "unsupported_file",
    ),
    recorded("Azure/azure-sdk-assets, a Python client: the whole body", "2025-12-08"),
    assumed("that the other extensions it does not list are refused, too, and a name without one is not"),
    area="project_files",
    on=f"POST {STORE_PATH}/files",
    rejects={
        "Files with extensions [.csv] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].": _attach("products.CSV")
    },
    accepts=[_attach("products.md"), _attach("products")],
    since="2025-12-08",
    fix="Convert the file, say to `.txt` or `.json`, or give it to the code interpreter.",
)
def file_not_searchable(request: Request, world: WorldView) -> Iterator[Json]:
    """A project's vector stores only accept files with certain extensions."""
    file = world.uploads.file(str(request.body.get("file_id")))
    extension = splitext(file.object["filename"])[1].lower() if file else ""
    if extension and extension not in SEARCHABLE_EXTENSIONS:
        yield {"extension": extension}
