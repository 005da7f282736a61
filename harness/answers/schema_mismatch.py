"""Describes how a JSON text violates a schema. Compiled schemas are cached, as agents resend the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson

from harness.api.http.body import load_json
from harness.contract.compile_schema import compile_request_schema
from harness.core.exchange import Json
from harness.core.registry import suggest_name

MAX_COMPILED = 256
"""The number of cached schemas."""
MAX_ERRORS = 20
"""The number of errors inspected to find the most informative one."""


def describe_mismatch(text: str, schema: Json) -> str:
    """Describe how a text violates a schema; empty if it does not, or if the schema is invalid.

    A member unknown to the schema is reported first, with the nearest known name.
    """
    if (validator := _compile(orjson.dumps(schema))) is None:
        return ""
    try:
        value = load_json(text)
    except ValueError as problem:
        return f"it is no JSON: {problem}"
    if validator.is_valid(value):
        return ""
    # A long list against a wrong schema has an error for each element.
    errors = list(islice(validator.iter_errors(value), MAX_ERRORS))
    unknown = next((error for error in errors if error.kind.name == "additionalProperties"), None)
    return _describe_error(unknown or errors[0], schema)


@lru_cache(maxsize=MAX_COMPILED)
def _compile(schema: bytes) -> Any:
    """Compile a schema; None if it is invalid."""
    try:
        return compile_request_schema(orjson.loads(schema))
    except ValueError:
        return None


def _describe_error(error: jsonschema_rs.ValidationError, schema: Json) -> str:
    place = "".join(f"[{step!r}]" for step in error.instance_path)
    where = f" (at {place})" if place else ""
    if error.kind.name != "additionalProperties":
        return f"{error.message}{where}"
    names: list[str] = error.kind.as_dict()["unexpected"]
    said = f"it has no member {', '.join(map(repr, names))}{where}"
    return f"{said}. {suggest_name(names[0], known)}" if (known := _known_members(schema, error.schema_path)) else said


def _known_members(schema: Json, path: Sequence[Any]) -> list[str]:
    """Return the properties next to the keyword at `path`; behind a reference, those of the whole schema."""
    beside: Any = schema
    try:
        for step in path[:-1]:
            beside = beside[step]
        return list(beside["properties"])
    except (LookupError, TypeError):
        return list(dict.fromkeys(_all_members(schema)))


def _all_members(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(properties := schema.get("properties"), dict):
            yield from properties
        yield from _members_of_all(schema.values())
    elif isinstance(schema, list):
        yield from _members_of_all(schema)


def _members_of_all(schemas: Iterable[Any]) -> Iterator[str]:
    for schema in schemas:
        yield from _all_members(schema)
