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
        for key, inner in (schema.get(name) or {}).items():
            yield from closed(inner, (*context, name, key))
    for name in _INSIDE_LISTS:
        for index, inner in enumerate(schema.get(name) or ()):
            yield from closed(inner, (*context, name, str(index)))
    yield from closed(schema.get("items"), (*context, "items"))


def _object(schema: Json, context: tuple[str, ...]) -> Iterator[str]:
    where = f"In context={context!r}"
    if schema.get("additionalProperties") is not False:
        yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
    required = schema.get("required") or []
    for name in schema.get("properties") or {}:
        if name not in required:
            yield (
                f"{where}, 'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{name}'."
            )
