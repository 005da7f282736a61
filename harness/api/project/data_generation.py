"""Jobs of a Foundry project that generate data: their objects, and the samples that the mock makes.

The members are those of the types in azure-ai-projects 2.10; samples of the service are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.core.exchange import Json

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
    said = _object(job.get("output_configuration")).get("name")
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
    said = _object(job.get("output_configuration"))
    kinds = (("description", str), ("tags", dict))
    return {name: said[name] for name, kind in kinds if isinstance(said.get(name), kind)}


def _configuration(job: Json) -> Json:
    return _object(job.get("generation_configuration"))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
