"""`/data_generation_jobs`: create evaluation datasets or fine-tuning files from prompts, agents, traces or files."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.data_generation import (
    CANCELLED,
    EVALUATION,
    NEXT_STATUS,
    SUCCEEDED,
    describe_output,
    finish_job,
    new_job,
    output_name,
    write_partitions,
    write_samples,
)
from harness.api.project.lists import page_list
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.project_resources import make_resource, origin_of
from harness.world.world import World

JOBS = "/data_generation_jobs"
JOB = f"{JOBS}/{{job_id}}"


@operation("POST", JOBS, project=True)
def create(call: ApiCall) -> Answer:
    """Start a job, which is polled until it has succeeded."""
    job = new_job(call.world.ids.guid(), call.world.tick(), call.body)
    call.store.generation_jobs[job["id"]] = job
    address = f"{origin_of(call.world, call.request.headers)}{call.request.root}{JOBS}/{job['id']}?api-version=v1"
    return Answer(201, job, {"operation-location": address, "location": address})


@operation("GET", JOBS, project=True)
def list_jobs(call: ApiCall) -> Answer:
    """List the jobs, newest first unless `order=asc`."""
    return Answer(200, page_list(list(call.store.generation_jobs.values()), call.query))


@operation("GET", JOB, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Advance a job by one step and return it: queued, in progress, succeeded."""
    jobs, id = call.store.generation_jobs, call.params["job_id"]
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
    jobs, id = call.store.generation_jobs, call.params["job_id"]
    if jobs[id]["status"] in NEXT_STATUS:
        jobs[id] = {**jobs[id], "status": CANCELLED, "finished_at": call.world.tick()}
    return Answer(200, jobs[id])


@operation("DELETE", JOB, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a job; its outputs stay."""
    del call.store.generation_jobs[call.params["job_id"]]
    return Answer(204, b"")


def _make_outputs(world: World, job: Json) -> list[Json]:
    """Store a job's outputs; returns the references to them for its result."""
    if job["scenario"] == EVALUATION:
        return [_make_dataset(world, job)]
    made = []
    for name, data in write_partitions(job):
        id = world.uploads.add_file(name, data, "fine-tune", None, in_project=True)
        made.append({"type": "file", "id": id, "filename": name})
    return made


def _make_dataset(world: World, job: Json) -> Json:
    """Create the next version of the dataset that a job produces."""
    name, described = output_name(job), describe_output(job)
    known = world.store.datasets.get(name)
    version = str(1 + max((int(number) for number in known.versions if number.isdecimal()), default=0) if known else 1)
    files = {f"{name}.jsonl": b"".join(write_samples(job)).decode()}
    id = make_resource(world, "dataset", name, {"version": version, "files": files, **described})
    return {"type": "dataset", "id": id, "name": name, "version": version, **described}
