"""`/data_generation_jobs`: create evaluation datasets or fine-tuning files from prompts, agents, traces or files.

The members are those of the types in azure-ai-projects 2.10; samples of the service are not recorded.
"""

import json
from collections.abc import Sequence

from harness.api.operations import operation
from harness.core.exchange import Answer, Json
from harness.core.json_values import as_object
from harness.core.registry import TableKind, declare_table
from harness.foundry.assets import DATASETS, make_dataset
from harness.foundry.resources import origin_of, page_list
from harness.world.api_call import ApiCall
from harness.world.world import World

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
    return {"id": id, "status": QUEUED, "created_at": now, **{name: body[name] for name in named if name in body}}


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
