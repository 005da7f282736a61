"""What strict mode asks of a JSON Schema, in the API's words: closed objects, every property required."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.exchange import Json

_INSIDE_NAMES = ("properties", "$defs", "definitions")
_INSIDE_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def faults(schema: Json, *, strict: bool) -> Iterator[str]:
    """The problems of a function's parameters or of a response format, outermost first."""
    if schema.get("type") != "object" and "$ref" not in schema and schema:
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    if strict:
        yield from closed(schema, ())


def closed(schema: Any, context: tuple[str, ...]) -> Iterator[str]:
    """Where a schema is not strict: each object that is open, each property that is not required."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" or "properties" in schema:
        yield from _object(schema, context)
    for name in _INSIDE_NAMES:
        for key, inner in _object_at(schema, name).items():
            yield from closed(inner, (*context, name, key))
    for name in _INSIDE_LISTS:
        for index, inner in enumerate(_array_at(schema, name)):
            yield from closed(inner, (*context, name, str(index)))
    yield from closed(schema.get("items"), (*context, "items"))


def _object(schema: Json, context: tuple[str, ...]) -> Iterator[str]:
    where = f"In context={context!r}"
    if schema.get("additionalProperties") is not False:
        yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
    required = _array_at(schema, "required")
    for name in _object_at(schema, "properties"):
        if name not in required:
            yield (
                f"{where}, 'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{name}'."
            )


def _object_at(schema: Json, name: str) -> Json:
    """The member of a schema that a client may have filled with anything; nothing where it is no object."""
    said = schema.get(name)
    return said if isinstance(said, dict) else {}


def _array_at(schema: Json, name: str) -> list[Any]:
    said = schema.get(name)
    return said if isinstance(said, list) else []
