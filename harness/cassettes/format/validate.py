"""A cassette of ours that somebody may have edited: where it is not as `schemas/cassette.json` has it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import orjson

from harness.cassettes.format.untrusted_text import Malformed
from harness.core.exchange import Json


def validate_cassette(document: Any) -> None:
    """Malformed says where the data of a cassette is not as it must be, and what is expected there; it quotes no value."""
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
    """The schema and its validator; loaded late, because many recordings are of others."""
    import jsonschema_rs

    from harness.contract.schema import schemas_directory

    schema: Json = orjson.loads((schemas_directory() / "cassette.json").read_bytes())
    return schema, jsonschema_rs.validator_for(schema)


def _describe_expected(schema: Any, path: Sequence[str | int]) -> str:
    """What the schema says of the place, in its innermost description."""
    said: str = schema["description"]
    for step in path:
        schema = schema[step]
        said = schema.get("description", said) if isinstance(schema, dict) else said
    return said


def _describe_wrong_members(kind: Any) -> str:
    """Which member is missing or too much."""
    if kind.name == "required":
        return f"without `{kind.property}`; "
    return f"with `{'`, `'.join(kind.unexpected)}`; " if kind.name == "additionalProperties" else ""


def _replace_bytes(value: Any) -> Any:
    """The data as JSON has it: bytes are texts."""
    if isinstance(value, dict):
        return {name: _replace_bytes(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replace_bytes(inner) for inner in value]
    return "" if isinstance(value, bytes) else value
