"""The resources of a Foundry project that a request names must exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.project.assets import ASSET_NOT_FOUND, DATASETS, INDEXES, AssetKind
from harness.api.project.connections import project_of
from harness.api.project.errors import project_not_found
from harness.api.project.versions import Versioned, known_versions
from harness.contract.rule import Case, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import KEY_HEADERS, PROJECT_PATH
from harness.contract.rules.http.gateway import GATEWAY_ERROR_FORM
from harness.core.dates import iso_time
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

ASSETS_REPOSITORY = "Azure/azure-sdk-assets"
PREVIEWS = {**KEY_HEADERS, "foundry-features": "MemoryStores=V1Preview, Skills=V1Preview"}
_REMEMBERED = {"name": "mine", "definition": {"kind": "default", "chat_model": "m", "embedding_model": "e"}}


def on_project(call: str) -> str:
    """Return the operation of a request below a project: `GET /toolboxes/x`."""
    method, _, path = call.partition(" ")
    return f"{method} !{PROJECT_PATH}{path}?api-version=v1"


def project_case(call: str, body: Any = None) -> Case:
    """Make an example that sends a request to a project like a client with previews."""
    return Case(body, on=on_project(call), headers=PREVIEWS)


MAKE_STORE = project_case("POST /memory_stores", _REMEMBERED)
MAKE_TOOLBOX = project_case("POST /toolboxes/mine/versions", {"tools": []})
MAKE_SKILL = project_case(
    "POST /skills/mine/versions", {"inline_content": {"description": "Helps.", "instructions": "Help."}}
)
MAKE_INDEX = project_case(
    "PATCH /indexes/mine/versions/1", {"type": "AzureSearch", "connectionName": "search", "indexName": "docs"}
)
MAKE_DATASET = project_case("PATCH /datasets/mine/versions/1", {"type": "uri_file", "dataUri": "https://a/b/c"})


@rule(
    on=("GET /connections/{name}", "POST /connections/{name}/getConnectionWithCredentials"),
    dialects=FOUNDRY,
    error=ApiError(
        404, "Connection {name} can't be found in this workspace", code="NotFound", body_template=GATEWAY_ERROR_FORM
    ),
    source=[
        reported("azure-sdk-for-python: what the tests of azure-ai-projects expect", "2025"),
        assumed("the code and the form, which are those of a deployment"),
    ],
    rejects={"Connection other can't be found in this workspace": project_case("GET /connections/other")},
    fix="Make it first: `mock.connection(…)`.",
)
def connection_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A connection must exist."""
    if request.params["name"] not in world.store.connections:
        yield {"name": request.params["name"]}


@rule(
    on="GET /deployments/{name}",
    dialects=FOUNDRY,
    error=ApiError(404, "Deployment not found", code="NotFound", body_template=GATEWAY_ERROR_FORM),
    source=recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Java, DeploymentsAsyncClientTest", "2026-03-21"),
    rejects=[project_case("GET /deployments/other")],
    fix="Make it first: `mock.deployment(…)`.",
)
def project_deployment_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A deployment that is read must exist."""
    if request.params["name"] not in world.store.deployments:
        yield {}


@rule(
    on=(
        "GET /datasets/{name}/versions/{version}",
        "POST /datasets/{name}/versions/{version}/credentials",
        "GET /indexes/{name}/versions/{version}",
    ),
    dialects=FOUNDRY,
    error=ApiError(404, "Could not find asset with ID: {id}", code="UserError", body_template=ASSET_NOT_FOUND),
    source=[
        recorded(
            f"{ASSETS_REPOSITORY}: azure-ai-projects for Java, DatasetsClientTest; for Python, test_datasets", "2026-03"
        ),
        assumed("that an index is told so, too"),
    ],
    rejects={
        "Could not find asset with ID: azureai://accounts/harness/projects/p/data/mine/versions/2": after(
            MAKE_DATASET, project_case("GET /datasets/mine/versions/2")
        ),
        "Could not find asset with ID: azureai://accounts/harness/projects/p/indexes/mine/versions/1": project_case(
            "GET /indexes/mine/versions/1"
        ),
    },
    accepts=[after(MAKE_INDEX, project_case("GET /indexes/mine/versions/1"))],
    fix="Make it first, by a `PATCH` of the version, or `mock.dataset(…)`, `mock.index(…)`.",
)
def asset_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A version of a dataset or an index must exist to be read; recorded: deleting an unknown version is no error."""
    kind: AssetKind = DATASETS if request.path.startswith("/datasets/") else INDEXES
    table = world.store.datasets if kind is DATASETS else world.store.indexes
    name, version = request.params["name"], request.params["version"]
    if version not in known_versions(table, name):
        facts = {"component": kind.component, "time": iso_time(world.now)}
        yield {"id": kind.id(name, version, project_of(request.root)), **facts}


@rule(
    on=("* /memory_stores/{name}", "* /memory_stores/{name}:*", "* /memory_stores/{name}/*"),
    dialects=FOUNDRY,
    error=project_not_found("MemoryStore '{name}' not found"),
    source=recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Python, sample_memory_crud", "2026-02-21"),
    rejects={
        "MemoryStore 'other' not found": project_case("DELETE /memory_stores/other"),
    },
    accepts=[after(MAKE_STORE, project_case("GET /memory_stores/mine"))],
    fix="Make it first: `POST /memory_stores`, or `mock.memory_store(…)`.",
)
def memory_store_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A memory store must exist."""
    if request.params["name"] not in world.store.memory_stores:
        yield {"name": request.params["name"]}


ON_TOOLBOX = (
    "GET /toolboxes/{name}*",
    "PATCH /toolboxes/{name}",
    "DELETE /toolboxes/{name}*",
    "POST /toolboxes/{name}:*",
    "POST /toolboxes/{name}*/mcp",
)
"""The operations on an existing toolbox."""


@rule(
    on=ON_TOOLBOX,
    dialects=FOUNDRY,
    error=project_not_found("Toolbox '{name}'{version} not found"),
    source=[
        recorded(f"{ASSETS_REPOSITORY}: azure-ai-agents for Java, ToolboxSamplesTests", "2026-05-29"),
        recorded(
            f"{ASSETS_REPOSITORY}: azure-ai-projects-agents for .NET, AgentsTests.TestToolboxesCRUD", "2026-04-15"
        ),
        assumed("the words about a version"),
    ],
    rejects={
        "Toolbox 'other' not found": project_case("DELETE /toolboxes/other"),
        "Toolbox 'mine' version '2' not found": after(MAKE_TOOLBOX, project_case("GET /toolboxes/mine/versions/2")),
    },
    accepts=[after(MAKE_TOOLBOX, project_case("GET /toolboxes/mine"))],
    fix="Make it first: `POST /toolboxes/{name}/versions`, or `mock.toolbox(…)`.",
)
def toolbox_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A toolbox must exist, in the version that is requested or made the default."""
    yield from _find_missing(request, world.store.toolboxes)


@rule(
    on=("GET /skills/{name}*", "DELETE /skills/{name}*", "POST /skills/{name}"),
    dialects=FOUNDRY,
    error=project_not_found("Skill '{name}'{version} not found."),
    source=[
        recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Python, sample_skills_crud", "2026-07-01"),
        assumed("the words about a version"),
    ],
    rejects={
        "Skill 'other' not found.": project_case("DELETE /skills/other"),
        "Skill 'mine' version '2' not found.": after(MAKE_SKILL, project_case("GET /skills/mine/versions/2")),
    },
    accepts=[after(MAKE_SKILL, project_case("GET /skills/mine"))],
    fix="Make it first: `POST /skills/{name}/versions`, or `mock.skill(…)`.",
)
def skill_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A skill must exist, in the version that is requested or made the default."""
    yield from _find_missing(request, world.store.skills)


def _find_missing(request: Request, table: Mapping[str, Versioned]) -> Iterator[Json]:
    """Yield the facts of a named resource, or of the requested version, if the project lacks it."""
    name, known = request.params["name"], known_versions(table, request.params["name"])
    body = request.body if isinstance(request.body, dict) else {}
    version = request.params.get("version", body.get("default_version"))
    if not known:
        yield {"name": name, "version": ""}
    elif isinstance(version, str) and version not in known:
        yield {"name": name, "version": f" version '{version}'"}
