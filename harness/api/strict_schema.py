"""What the API asks of a JSON Schema, in its words: an object at the top, arrays with items, in strict mode all closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness.core.exchange import Json

_INSIDE_NAMES = ("properties", "$defs", "definitions")
_INSIDE_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "const", "not")
_NOT_STRICT = ("oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "uniqueItems")

Path = tuple[str, ...]
Faults = Callable[[Json, Path], Iterator[str]]


def of_function(schema: Json, *, strict: bool | None) -> Iterator[str]:
    """The problems of a function's parameters, outermost first.

    Without `strict` the API closes a schema itself where it can and takes it as it is where it cannot.
    """
    yield from _root(schema)
    if strict is False and any(name in schema for name in _NOT_AT_THE_TOP):
        yield f"schema must have type 'object' and not have {'/'.join(map(repr, _NOT_AT_THE_TOP))} at the top level."
    if strict is not None:
        yield from _everywhere(schema, (), _strict if strict else _lenient)


def of_format(schema: Json) -> Iterator[str]:
    """The problems of a strict response format, outermost first."""
    yield from _root(schema)
    yield from _everywhere(schema, (), _strict)


def closed(schema: Any) -> Any:
    """A schema as the API closes it where `strict` is left out: its objects take nothing else and require everything.

    Recorded: microsoft/agent-framework ConformanceTraces (2025-10), langchain-ai/langchain test_system_additional_tools
    (2026-09). An object that is open by its own words (`additionalProperties`) stays so.
    """
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) if name in ("items", *_INSIDE_LISTS) else value for name, value in schema.items()}
    for name in _INSIDE_NAMES:
        if name in schema:
            made[name] = {key: closed(inner) for key, inner in _object_at(schema, name).items()}
    if schema.get("type") == "object" or "properties" in schema:
        made.setdefault("additionalProperties", False)
        required = _array_at(schema, "required")
        made["required"] = [*required, *(name for name in _object_at(schema, "properties") if name not in required)]
    return made


def _root(schema: Json) -> Iterator[str]:
    if schema.get("type") != "object" and "$ref" not in schema and schema:
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."


def _everywhere(schema: Any, path: Path, look: Faults) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from look(schema, path)
    for name in _INSIDE_NAMES:
        for key, inner in _object_at(schema, name).items():
            yield from _everywhere(inner, (*path, name, key), look)
    for name in _INSIDE_LISTS:
        for index, inner in enumerate(_array_at(schema, name)):
            yield from _everywhere(inner, (*path, name, str(index)), look)
    yield from _everywhere(schema.get("items"), (*path, "items"), look)


def _lenient(schema: Json, path: Path) -> Iterator[str]:
    if schema.get("type") == "array" and not {"items", "prefixItems"} & schema.keys():
        yield f"In context={path!r}, array schema missing items."


def _strict(schema: Json, path: Path) -> Iterator[str]:
    yield from (f"In context={path!r}, '{name}' is not permitted." for name in _NOT_STRICT if name in schema)
    yield from _lenient(schema, path)
    if schema.get("type") == "object" or "properties" in schema:
        yield from _closed(schema, f"In context={path!r}")


def _closed(schema: Json, where: str) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
    required, properties = _array_at(schema, "required"), _object_at(schema, "properties")
    every = f"{where}, 'required' is required to be supplied and to be an array including every key in properties."
    yield from (f"{every} Missing '{name}'." for name in properties if name not in required)
    yield from (f"{every} Extra required key '{name}' supplied." for name in required if name not in list(properties))


def _object_at(schema: Json, name: str) -> Json:
    """The member of a schema that a client may have filled with anything; nothing where it is no object."""
    said = schema.get(name)
    return said if isinstance(said, dict) else {}


def _array_at(schema: Json, name: str) -> list[Any]:
    said = schema.get(name)
    return said if isinstance(said, list) else []
