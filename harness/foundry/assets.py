"""`/indexes` and `/datasets`: assets with versions that the client names, created and changed by the same request.

For datasets also file uploads, and the credentials to read the files. Their members and order are those of recorded
answers, 2025-07 to 2026-03. `/data_generation_jobs` make datasets for evaluation, or files for fine-tuning, from prompts,
agents, traces or files; their members are those of the types in azure-ai-projects 2.10, as no samples are recorded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.api.http.dialects import BLOB_ROOT, FOUNDRY
from harness.api.operations import operation
from harness.contract.rule import RuleScope, WorldView, after, assumed, recorded, rule
from harness.core.dates import iso_time
from harness.core.errors import ApiError, ConfigError
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, merge_patch, omit, pick
from harness.core.registry import TableKind, declare_table
from harness.core.text import show
from harness.foundry.blobs import BLOBS, FILE_TYPE, Blob, address_for, container_address, new_container, signed_query
from harness.foundry.connections import ACCOUNT, PROJECT, SUBSCRIPTION, project_of
from harness.foundry.resources import (
    ASSETS_REPOSITORY,
    Collection,
    Versioned,
    origin_of,
    page_list,
    project_case,
    value_list,
    versions_in,
)
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource, member_types
from harness.world.world import World

SCOPE = RuleScope(area="resources", dialects=FOUNDRY)
INDEXES: TableKind[Versioned] = declare_table("indexes")
DATASETS: TableKind[Versioned] = declare_table("datasets")
VERSION = "/datasets/{name}/versions/{version}"
STORAGE = f"{SUBSCRIPTION}/Microsoft.Storage/storageAccounts/{ACCOUNT}"
ASSET_NOT_FOUND: Mapping[str, Any] = {
    "error": {
        "code": "{code}",
        "severity": None,
        "message": "{message}",
        "messageFormat": None,
        "messageParameters": None,
        "referenceCode": None,
        "detailsUri": None,
        "target": None,
        "details": [],
        "innerError": {"code": "NotFoundError", "innerError": None},
        "debugInfo": None,
        "additionalInfo": None,
    },
    "correlation": {"operation": "0" * 32, "request": "0" * 16},
    "environment": "eastus2",
    "location": "eastus2",
    "time": "{time}",
    "componentName": "{component}",
    "statusCode": "{status}",
}
"""The form of errors of the service behind assets (recorded 2026-03-21 for datasets)."""
MAKE_INDEX = project_case(
    "PATCH /indexes/mine/versions/1", {"type": "AzureSearch", "connectionName": "search", "indexName": "docs"}
)
MAKE_DATASET = project_case("PATCH /datasets/mine/versions/1", {"type": "uri_file", "dataUri": "https://a/b/c"})


class Assets(Collection):
    """The assets of a kind, whose name in ids is `part`, and in errors `component`."""

    part: str
    component: str
    list_items = staticmethod(value_list)

    def show(self, resource: Versioned, _as_of: str) -> Json:
        """Show the newest version, which stands for an asset in lists."""
        return self.show_version(resource.latest)

    def show_patched(self, version: Json) -> Json:
        """Show a version as the answer to the request that stored it."""
        return self.show_version(version)

    def list_versions(self, call: ApiCall) -> Answer:
        """List the versions of one asset, newest first (recorded)."""
        oldest_first = super().list_versions(call).body["value"]
        return Answer(200, value_list(reversed(oldest_first)))

    def patch(self, call: ApiCall) -> Answer:
        """Create a version, or change it by a merge patch."""
        name, version, project = call.params["name"], call.params["version"], project_of(call.request.root)
        return Answer(200, self.show_patched(self.put(call.world, name, version, call.body or {}, project)))

    def put(self, world: World, name: str, version: str, body: Json, project: str = PROJECT) -> Json:
        """Create a version, or change it by a merge patch; returns it as stored."""
        now, asset = world.tick(), self.find_or_make(world, name)
        known = asset.versions.get(version)
        made = {
            "version": version,
            "name": name,
            "id": self.id_of(name, version, project),
            "members": merge_patch(known["members"] if known else {}, body),
            "times": {"createdAt": known["times"]["createdAt"] if known else now, "lastModifiedAt": now},
        }
        return asset.add(now, made)

    def id_of(self, name: str, version: str, project: str) -> str:
        """Make the id of an asset's version."""
        return f"azureai://accounts/{ACCOUNT}/projects/{project}/{self.part}/{name}/versions/{version}"


class Indexes(Assets):
    """The indexes of search services."""

    table, part, component = INDEXES, "indexes", "index"

    def show_version(self, version: Json) -> Json:
        """Show an index as the service does: what was sent, then its name and version."""
        return {**version["members"], "name": version["name"], "version": version["version"]}


class Datasets(Assets):
    """The datasets, whose files are in containers."""

    table, part, component = DATASETS, "data", "dataset"

    def show_patched(self, version: Json) -> Json:
        """Show a dataset as created. Recorded: the answer never says that it is a single file."""
        return {**self.show_version(version), "isSingleFile": False}

    def show_version(self, version: Json) -> Json:
        """Show a dataset."""
        members, times = version["members"], version["times"]
        kind = members.get("type", "uri_file")
        return {
            "id": version["id"],
            "name": version["name"],
            "version": version["version"],
            "displayName": members.get("displayName", version["name"]),
            "description": members.get("description"),
            "tags": members.get("tags") or {},
            "type": kind,
            "isReference": bool(members.get("isReference", False)),
            "dataUri": members.get("dataUri"),
            "isSingleFile": kind == "uri_file",
            "connectionName": members.get("connectionName"),
            "systemData": {
                "createdAt": iso_time(times["createdAt"]),
                "createdBy": "harness",
                "createdByType": None,
                "lastModifiedAt": iso_time(times["lastModifiedAt"]),
            },
        }


_INDEXES, _DATASETS = Indexes(), Datasets()
for _assets in (_INDEXES, _DATASETS):
    _assets.register_versions()
    operation("PATCH", f"/{_assets.table.name}/{{name}}/versions/{{version}}", project=True)(_assets.patch)


@operation("POST", f"{VERSION}/startPendingUpload", project=True)
def start_upload(call: ApiCall) -> Answer:
    """Create a container for uploading the files of a version; its address needs no key."""
    address, body = address_for(call, new_container(call.world)), call.body or {}
    return Answer(
        200,
        {
            **_references(address, address, signed_query(call.world.api_key, "rcwl")),
            "pendingUploadId": body.get("pendingUploadId"),
            "pendingUploadType": body.get("pendingUploadType", "BlobReference"),
            "version": call.params["version"],
        },
    )


@operation("POST", f"{VERSION}/credentials", project=True)
def retrieve_credentials(call: ApiCall) -> Answer:
    """Return a version's container address for reading; the request has no body."""
    data = str(_DATASETS.find(call).versions[call.params["version"]]["members"].get("dataUri", ""))
    container = address_for(call, data.partition(f"{BLOB_ROOT}/")[2].partition("/")[0])
    return Answer(200, _references(data, container, signed_query(call.world.api_key, "rl")))


def _references(blob: str, container: str, query: str) -> Json:
    """Return references to a blob or a container; recorded: the signed address is the container's."""
    signed = {"type": "SAS", "credentialType": "SAS", "sasUri": f"{container}?{query}"}
    reference = {"blobUri": blob, "storageAccountArmId": STORAGE, "credential": signed}
    return {"blobReference": reference, "blobReferenceForConsumption": reference}


@declare_resource(
    "index",
    member_types(
        "version type connectionName indexName description vectorStoreId databaseName containerName",
        "tags fieldMapping embeddingConfiguration",
    ),
)
def make_index(world: World, name: str, members: Json) -> str:
    """Create an index, of Azure AI Search unless `type` says otherwise."""
    body = {"type": "AzureSearch", **omit(members, "version")}
    return str(_INDEXES.put(world, name, members.get("version", "1"), body)["id"])


@declare_resource("dataset", member_types("version type dataUri connectionName description", "files tags"))
def make_dataset(world: World, name: str, members: Json) -> str:
    """Create a dataset whose `files` are in a container of the mock."""
    files = {path: _file_bytes(name, path, data) for path, data in members.get("files", {}).items()}
    container, now = new_container(world), world.tick()
    world.store.table(BLOBS)[container].blobs.update({path: Blob(data, FILE_TYPE, now) for path, data in files.items()})
    address = container_address(origin_of(world), PROJECT, container)
    single = {"type": "uri_file", "dataUri": f"{address}/{next(iter(files))}"} if len(files) == 1 else {}
    given = omit(members, "files", "version")
    body = {"type": "uri_folder", "dataUri": address, **single, **given}
    return str(_DATASETS.put(world, name, members.get("version", "1"), body)["id"])


def _file_bytes(dataset: str, path: str, data: Any) -> bytes:
    if not isinstance(data, str | bytes):
        raise ConfigError(f"dataset({show(dataset)}): the file {show(path)} is {show(data)}; pass a string or bytes.")
    return data.encode() if isinstance(data, str) else data


@rule(
    ApiError(404, "Could not find asset with ID: {id}", code="UserError", body_template=ASSET_NOT_FOUND),
    recorded(
        f"{ASSETS_REPOSITORY}: azure-ai-projects for Java, DatasetsClientTest; for Python, test_datasets", "2026-03"
    ),
    assumed("that an index gets the same error"),
    on=(
        "GET /datasets/{name}/versions/{version}",
        "POST /datasets/{name}/versions/{version}/credentials",
        "GET /indexes/{name}/versions/{version}",
    ),
    rejects={
        "azureai://accounts/harness/projects/p/data/mine/versions/2": after(
            MAKE_DATASET, project_case("GET /datasets/mine/versions/2")
        ),
        "azureai://accounts/harness/projects/p/indexes/mine/versions/1": project_case("GET /indexes/mine/versions/1"),
    },
    accepts=[after(MAKE_INDEX, project_case("GET /indexes/mine/versions/1"))],
    fix="Create it first, by a `PATCH` of the version, or `mock.dataset(…)`, `mock.index(…)`.",
)
def asset_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A version of a dataset or an index must exist to be read; recorded: deleting an unknown version is no error."""
    assets: Assets = _DATASETS if request.path.startswith("/datasets/") else _INDEXES
    name, version = request.params["name"], request.params["version"]
    if version not in versions_in(world, assets.table, name):
        facts = {"component": assets.component, "time": iso_time(world.now)}
        yield {"id": assets.id_of(name, version, project_of(request.root)), **facts}


GENERATION_JOBS: TableKind[Json] = declare_table("generation_jobs")
JOBS = "/data_generation_jobs"
JOB = f"{JOBS}/{{job_id}}"
QUEUED, IN_PROGRESS, SUCCEEDED, CANCELLED = "queued", "in_progress", "succeeded", "cancelled"
NEXT_STATUS = {QUEUED: IN_PROGRESS, IN_PROGRESS: SUCCEEDED}
"""The next status of a job in progress when it is polled."""
EVALUATION = "evaluation"
"""The scenario whose output is a dataset; all others output files."""
MOST_SAMPLES = 1000
"""The largest `max_samples` (documented in the client's types)."""
_TOKENS_PER_SAMPLE = 20


def new_job(id: str, now: int, body: Json) -> Json:
    """Make a job in its initial state."""
    named = ("name", "scenario", "sources", "generation_configuration", "output_configuration")
    return {"id": id, "status": QUEUED, "created_at": now, **pick(body, *named)}


def count_samples(job: Json) -> int:
    """Return how many samples a job makes: its maximum, or one if it has none."""
    most = _configuration(job).get("max_samples")
    return min(most, MOST_SAMPLES) if type(most) is int and most > 0 else 1


def write_partitions(job: Json) -> list[tuple[str, bytes]]:
    """Return the files of a fine-tuning job by name: its lines for training and for validation."""
    name, lines = output_name(job), write_samples(job)
    share = _configuration(job).get("train_split")
    if not isinstance(share, int | float) or not 0 < share < 1:
        return [(f"{name}.jsonl", b"".join(lines))]
    train = round(len(lines) * share)
    return [(f"{name}-train.jsonl", b"".join(lines[:train])), (f"{name}-validation.jsonl", b"".join(lines[train:]))]


def write_samples(job: Json) -> Sequence[bytes]:
    """Return the samples as lines of JSON Lines."""
    rows = (
        {"query": f"Question {number}", "response": f"Answer {number}"} for number in range(1, count_samples(job) + 1)
    )
    return [json.dumps(row).encode() + b"\n" for row in rows]


def output_name(job: Json) -> str:
    """Return the name of a job's output, by default its own."""
    said = as_object(job.get("output_configuration")).get("name")
    return said if isinstance(said, str) and said else str(job["name"])


def finish_job(job: Json, now: int, outputs: Sequence[Json]) -> Json:
    """Return a job as succeeded, with its outputs."""
    made = count_samples(job)
    tokens = made * _TOKENS_PER_SAMPLE
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 2 * tokens}
    result = {"outputs": list(outputs), "generated_samples": made, "token_usage": usage}
    return {**job, "status": SUCCEEDED, "finished_at": now, "result": result}


def describe_output(job: Json) -> Json:
    """Return the dataset members in the output configuration: its description and tags."""
    said = as_object(job.get("output_configuration"))
    kinds = (("description", str), ("tags", dict))
    return {name: said[name] for name, kind in kinds if isinstance(said.get(name), kind)}


def _configuration(job: Json) -> Json:
    return as_object(job.get("generation_configuration"))


@operation("POST", JOBS, project=True)
def create(call: ApiCall) -> Answer:
    """Start a job, which is polled until it has succeeded."""
    job = new_job(call.world.ids.guid(), call.world.tick(), call.body)
    call.store.table(GENERATION_JOBS)[job["id"]] = job
    address = f"{origin_of(call.world, call.request.headers)}{call.request.root}{JOBS}/{job['id']}?api-version=v1"
    return Answer(201, job, {"operation-location": address, "location": address})


@operation("GET", JOBS, project=True)
def list_jobs(call: ApiCall) -> Answer:
    """List the jobs, newest first unless `order=asc`."""
    return Answer(200, page_list(list(call.store.table(GENERATION_JOBS).values()), call.query))


@operation("GET", JOB, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Advance a job by one step and return it: queued, in progress, succeeded."""
    jobs, id = call.store.table(GENERATION_JOBS), call.params["job_id"]
    job = jobs[id]
    if status := NEXT_STATUS.get(job["status"]):
        moved = {**job, "status": status}
        jobs[id] = (
            finish_job(moved, call.world.tick(), _make_outputs(call.world, job)) if status == SUCCEEDED else moved
        )
    return Answer(200, jobs[id])


@operation("POST", f"{JOB}:cancel", project=True)
def cancel(call: ApiCall) -> Answer:
    """Cancel a job in progress; any other stays unchanged."""
    jobs, id = call.store.table(GENERATION_JOBS), call.params["job_id"]
    if jobs[id]["status"] in NEXT_STATUS:
        jobs[id] = {**jobs[id], "status": CANCELLED, "finished_at": call.world.tick()}
    return Answer(200, jobs[id])


@operation("DELETE", JOB, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a job; its outputs stay."""
    del call.store.table(GENERATION_JOBS)[call.params["job_id"]]
    return Answer(204, b"")


def _make_outputs(world: World, job: Json) -> list[Json]:
    if job["scenario"] == EVALUATION:
        return [_make_dataset(world, job)]
    made = []
    for name, data in write_partitions(job):
        id = world.uploads.add_file(name, data, "fine-tune", None, in_project=True)
        made.append({"type": "file", "id": id, "filename": name})
    return made


def _make_dataset(world: World, job: Json) -> Json:
    name, described = output_name(job), describe_output(job)
    known = world.store.table(DATASETS).get(name)
    version = str(1 + max((int(number) for number in known.versions if number.isdecimal()), default=0) if known else 1)
    files = {f"{name}.jsonl": b"".join(write_samples(job)).decode()}
    id = make_dataset(world, name, {"version": version, "files": files, **described})
    return {"type": "dataset", "id": id, "name": name, "version": version, **described}
