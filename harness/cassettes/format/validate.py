"""Validates a cassette of this harness, which may have been edited, against `schemas/cassette.json`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import orjson

from harness.core.errors import Malformed
from harness.core.exchange import Json


def validate_cassette(document: Any) -> None:
    """Raise Malformed, naming the first invalid place and what is expected there, without quoting any value."""
    schema, validator = _schema_and_validator()
    faults = list(validator.iter_errors(_replace_bytes(document)))
    for first in faults[:1]:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first.instance_path)
        where = "".join(steps).lstrip(".") or "the file"
        odd = "".join(
            _describe_wrong_members(fault.kind) for fault in faults if fault.instance_path == first.instance_path
        )
        raise Malformed(f"{where}: {odd}expected {_describe_expected(schema, first.schema_path)}")


@cache
def _schema_and_validator() -> tuple[Json, Any]:
    """Load the schema and its validator; late, because many recordings come from other recorders."""
    from harness.contract.compile_schema import compile_schema
    from harness.contract.schema import schemas_directory

    schema: Json = orjson.loads((schemas_directory() / "cassette.json").read_bytes())
    return schema, compile_schema(schema)


def _describe_expected(schema: Any, path: Sequence[str | int]) -> str:
    """Return the innermost description in the schema for a place."""
    description: str = schema["description"]
    for step in path:
        schema = schema[step]
        description = schema.get("description", description) if isinstance(schema, dict) else description
    return description


def _describe_wrong_members(kind: Any) -> str:
    """Name the members that are missing or unexpected."""
    if kind.name == "required":
        return f"without `{kind.property}`; "
    return f"with `{'`, `'.join(kind.unexpected)}`; " if kind.name == "additionalProperties" else ""


def _replace_bytes(value: Any) -> Any:
    """Replace bytes by empty strings, as JSON has none."""
    if isinstance(value, dict):
        return {name: _replace_bytes(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace_bytes(inner) for inner in value]
    return "" if isinstance(value, bytes) else value
