"""Jobs of a Foundry project that generate data: how one is told, and the samples that the mock makes.

The members are those of the types of azure-ai-projects 2.10; what the samples of the service look like is not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.core.exchange import Json

QUEUED, IN_PROGRESS, SUCCEEDED, CANCELLED = "queued", "in_progress", "succeeded", "cancelled"
NEXT_STATUS = {QUEUED: IN_PROGRESS, IN_PROGRESS: SUCCEEDED}
"""What the status of a job under way becomes when it is polled."""
EVALUATION = "evaluation"
"""The scenario whose output is a dataset; that of all others are files."""
MOST_SAMPLES = 1000
"""The largest `max_samples` (documented in the client's types)."""
_TOKENS_PER_SAMPLE = 20


def new_job(id: str, now: int, body: Json) -> Json:
    """Make a job as it is when it was just created."""
    named = ("name", "scenario", "sources", "generation_configuration", "output_configuration")
    return {"id": id, "status": QUEUED, "created_at": now, **{name: body[name] for name in named if name in body}}


def count_samples(job: Json) -> int:
    """How many samples a job makes: as many as it is allowed, one where it does not say."""
    most = _configuration(job).get("max_samples")
    return min(most, MOST_SAMPLES) if type(most) is int and most > 0 else 1


def write_partitions(job: Json) -> list[tuple[str, bytes]]:
    """Write the files of a job for fine-tuning, lines by name: those to train with, those to validate with."""
    name, lines = output_name(job), write_samples(job)
    share = _configuration(job).get("train_split")
    if not isinstance(share, int | float) or not 0 < share < 1:
        return [(f"{name}.jsonl", b"".join(lines))]
    train = round(len(lines) * share)
    return [(f"{name}-train.jsonl", b"".join(lines[:train])), (f"{name}-validation.jsonl", b"".join(lines[train:]))]


def write_samples(job: Json) -> Sequence[bytes]:
    """Write the samples, a line of JSON Lines each."""
    rows = (
        {"query": f"Question {number}", "response": f"Answer {number}"} for number in range(1, count_samples(job) + 1)
    )
    return [json.dumps(row).encode() + b"\n" for row in rows]


def output_name(job: Json) -> str:
    """Find the name that a job gives its output; by default its own."""
    said = _object(job.get("output_configuration")).get("name")
    return said if isinstance(said, str) and said else str(job["name"])


def finish_job(job: Json, now: int, outputs: Sequence[Json]) -> Json:
    """Finish a job that has made its outputs."""
    made = count_samples(job)
    tokens = made * _TOKENS_PER_SAMPLE
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 2 * tokens}
    result = {"outputs": list(outputs), "generated_samples": made, "token_usage": usage}
    return {**job, "status": SUCCEEDED, "finished_at": now, "result": result}


def describe_output(job: Json) -> Json:
    """Describe the members of a dataset that the output configuration gives: its description and its tags."""
    said = _object(job.get("output_configuration"))
    kinds = (("description", str), ("tags", dict))
    return {name: said[name] for name, kind in kinds if isinstance(said.get(name), kind)}


def _configuration(job: Json) -> Json:
    return _object(job.get("generation_configuration"))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
