"""The API's requirements for a JSON Schema: an object at the top, arrays with items, closed objects in strict mode."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from harness.core.exchange import Json
from harness.core.json_values import as_object

_SCHEMA_MAPS = ("properties", "$defs", "definitions")
_SCHEMA_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "const", "not")
_NOT_STRICT = (
    *("oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
    *("uniqueItems", "contains", "propertyNames", "minProperties", "maxProperties"),
)
_SAYS_WHAT_IT_IS = ("type", "$ref", "anyOf", "enum", "properties")
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
"""The string formats in strict mode: https://github.com/BuilderIO/agent-native/pull/3085, 2026-08."""
_MAX_PROPERTIES = 5_000
"""The maximum number of properties in a strict response format: public probe of gpt-5.6-luna, 2026."""
_MAX_NESTING = 10
"""The maximum number of objects inside one another in one: public measurements of five origins, 2025 to 2026."""
_MAX_ENUM_VALUES = 1_000
"""The maximum number of enum values in one: public reports of five origins, 2025 to 2026."""
_DEFINITION = re.compile(r"#(?:/(?:\$defs|definitions)/[^/]+)?")

_TYPES_OF: Mapping[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    dict: frozenset({"object"}),
    float: frozenset({"integer", "number"}),
    int: frozenset({"integer", "number"}),
    list: frozenset({"array"}),
    str: frozenset({"string"}),
    type(None): frozenset({"null"}),
}
"""The JSON Schema types of Python's values; a number without a fraction is an integer in either form."""

Path = tuple[str, ...]
ProblemFinder = Callable[[Json, Path], Iterator[str]]


def function_problems(
    schema: Json, invalid: str = "", *, strict: bool | None, takes_unions: bool = False
) -> Iterator[str]:
    """Yield the problems of a function's parameters, outermost first; `invalid` says why they are not JSON Schema.

    Without `strict` the API closes a schema itself if it can, and otherwise accepts it unchanged. `takes_unions` says
    whether the model accepts `anyOf` and the like at the top if `strict` is false.
    """
    yield from _root_problems(schema, empty=strict is True)
    yield from filter(None, [invalid])
    is_union = any(name in schema for name in _NOT_AT_THE_TOP)
    if strict is False and is_union and not takes_unions:
        yield f"schema must have type 'object' and not have {'/'.join(map(repr, _NOT_AT_THE_TOP))} at the top level."
    if strict is False and schema.get("type") == "object" and "properties" not in schema and not is_union:
        yield "In context=(), object schema missing properties."
    if strict:
        yield from _closed_problems(schema)
    elif strict is False:
        yield from _check_subschemas(schema, (), _array_problems)


def format_problems(schema: Json, invalid: str = "") -> Iterator[str]:
    """Yield the problems of a strict response format, outermost first; `invalid` says why it is not JSON Schema."""
    yield from _keyword_problems(schema, ())  # named before the type that such a schema lacks
    yield from _root_problems(schema, empty=True)
    yield from filter(None, [invalid])
    yield from _closed_problems(schema)
    yield from _size_problems(schema)


def close_schema(schema: Any) -> Any:
    """Close a schema as the API does if `strict` is absent: no additional properties, and all properties required.

    Recorded: microsoft/agent-framework ConformanceTraces (2025-10), langchain-ai/langchain test_system_additional_tools
    (2026-09). An object that is explicitly open (`additionalProperties`) stays open.
    """
    if not isinstance(schema, dict):
        return schema
    closed = _change_subschemas(schema, close_schema)
    if schema.get("type") == "object" or "properties" in schema:
        closed.setdefault("additionalProperties", False)
        required = _array_at(schema, "required")
        known = _texts(required)
        closed["required"] = [*required, *(name for name in _object_at(schema, "properties") if name not in known)]
    return closed


def _change_subschemas(schema: Json, change: Callable[[Any], Any]) -> Json:
    """Return a copy of a schema with all schemas directly below it changed."""
    changed = dict(schema)
    for name in ("items", *_SCHEMA_LISTS):
        if name in schema:
            part = schema[name]
            changed[name] = [change(inner) for inner in part] if isinstance(part, list) else change(part)
    for name in _SCHEMA_MAPS:
        if name in schema:
            changed[name] = {key: change(inner) for key, inner in _object_at(schema, name).items()}
    return changed


def apply_strictness(parameters: Any, strict: bool | None) -> tuple[Any, bool]:
    """Make a function's parameters strict where the API does; returns them, and whether calls conform to them."""
    if parameters == {}:
        parameters = {"type": "object", "properties": {}}
    if strict is None and isinstance(parameters, dict):
        closed = close_schema(parameters)
        strict = not any(function_problems(closed, strict=True))
        parameters = closed if strict else parameters
    return parameters, True if strict is None else strict


def _root_problems(schema: Json, *, empty: bool) -> Iterator[str]:
    if schema.get("type") != "object" and "$ref" not in schema and (schema or empty):
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."


def _closed_problems(schema: Json) -> Iterator[str]:
    read = _drop_free_form(schema)
    yield from _check_subschemas(read, (), partial(_strict_problems, read))


def _drop_free_form(schema: Any) -> Any:
    """Leave out the properties that strict mode ignores, and refuses among the required names."""
    if not isinstance(schema, dict):
        return schema
    read = _change_subschemas(schema, _drop_free_form)
    if "properties" in read:
        read["properties"] = {name: inner for name, inner in read["properties"].items() if not _is_free_form(inner)}
    return read


def _is_free_form(schema: Any) -> bool:
    """Return whether a schema is of an object without `properties`, or of an array of such."""
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array":
        return _is_free_form(schema.get("items"))
    return schema.get("type") == "object" and not {"properties", "$ref", *_NOT_STRICT} & schema.keys()


def _check_subschemas(schema: Any, path: Path, look: ProblemFinder) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from look(schema, path)
    for name in _SCHEMA_MAPS:
        at = (_find_type(schema, "object", path) if name == "properties" else None) or path
        for key, inner in _object_at(schema, name).items():
            yield from _check_subschemas(inner, (*at, name, key), look)
    for name in _SCHEMA_LISTS:
        for index, inner in enumerate(_array_at(schema, name)):
            yield from _check_subschemas(inner, (*path, name, str(index)), look)
    at = _find_type(schema, "array", path) or path
    yield from _check_subschemas(schema.get("items"), (*at, "items"), look)


def _array_problems(schema: Json, path: Path) -> Iterator[str]:
    if (at := _find_type(schema, "array", path)) is not None and not {"items", "prefixItems"} & schema.keys():
        yield f"In context={at!r}, array schema missing items."


def _find_type(schema: Json, name: str, path: Path) -> Path | None:
    """Return the path at which the API names a schema of this type, or of several; None without one."""
    types = schema.get("type")
    if isinstance(types, list) and name in types:
        return (*path, "type", str(types.index(name)))
    return path if types == name else None


def _enum_problems(schema: Json, path: Path) -> Iterator[str]:
    """Yield the values of an `enum` that are not of the schema's type; these problems begin without `In`."""
    types = schema.get("type")
    names = [types] if isinstance(types, str) else _array_at(schema, "type")
    at = tuple(step.replace("anyOf", "anyof") for step in path)
    yield from (
        f"context={at!r}, enum value {value} does not validate against {{'type': {types!r}}}."
        for value in _array_at(schema, "enum")
        if names and not _TYPES_OF[type(value)] & _texts(names)
    )


def _format_problems(schema: Json, path: Path) -> Iterator[str]:
    """Yield the problems of a string's format; formats of numbers are free, as recorded: `uint8`, `double`."""
    format, at = schema.get("format"), _find_type(schema, "string", path)
    if format and format not in _FORMATS and at is not None:
        yield f"In context={at!r}, '{format}' is not a valid format."


def _reference_problems(root: Json, schema: Json, where: str) -> Iterator[str]:
    """Yield the problems of a reference: it must stand alone, and name a top-level definition or the schema itself."""
    reference = schema["$ref"]
    if beside := sorted(schema.keys() - {"$ref", *_SCHEMA_MAPS}):
        yield f"{where}, $ref cannot have keywords {{{', '.join(map(repr, beside))}}}."
    if not _DEFINITION.fullmatch(reference):
        yield f"{where}, reference can only point to definitions defined at the top level of the schema."
    elif (steps := reference.split("/")[1:]) and steps[1] not in _object_at(root, steps[0]):
        yield f"{where}, reference to component '{reference}' which was not found in the schema."


def _keyword_problems(schema: Json, path: Path) -> Iterator[str]:
    yield from (f"In context={path!r}, '{name}' is not permitted." for name in _NOT_STRICT if name in schema)


def _strict_problems(root: Json, schema: Json, path: Path) -> Iterator[str]:
    if isinstance(schema.get("$ref"), str):
        yield from _reference_problems(root, schema, f"In context={path!r}")
    yield from _keyword_problems(schema, path)
    if path and not any(name in schema for name in _SAYS_WHAT_IT_IS):
        yield f"In context={path!r}, schema must have a 'type' key."
    yield from _array_problems(schema, path)
    yield from _enum_problems(schema, path)
    yield from _format_problems(schema, path)
    at = _find_type(schema, "object", path)
    if at is not None or "properties" in schema:
        yield from _openness_problems(schema, f"In context={path if at is None else at!r}")


def _openness_problems(schema: Json, where: str) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
    required, properties = _array_at(schema, "required"), _object_at(schema, "properties")
    every = f"{where}, 'required' is required to be supplied and to be an array including every key in properties."
    known = _texts(required)
    yield from (f"{every} Missing '{name}'." for name in properties if name not in known)
    yield from (
        f"{every} Extra required key '{name}' supplied."
        for name in required
        if not (isinstance(name, str) and name in properties)
    )


def _subschemas(schema: Any) -> Iterator[Json]:
    """Yield a schema and all its subschemas; references are not followed."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += (inner for name in _SCHEMA_MAPS for inner in _object_at(part, name).values())
            left += (inner for name in _SCHEMA_LISTS for inner in _array_at(part, name))
            left.append(part.get("items"))


def _count_nesting(schema: Any) -> int:
    """Count the objects inside one another, this one included. Whether an array counts is unknown: it does not here."""
    if not isinstance(schema, dict):
        return 0
    inside = [schema.get("items"), *_object_at(schema, "properties").values()]
    inside += (inner for name in _SCHEMA_LISTS for inner in _array_at(schema, name))
    return max(map(_count_nesting, inside)) + ("properties" in schema)


def _size_problems(schema: Json) -> Iterator[str]:
    """Yield the limits of strict mode that a schema exceeds as a whole, which the API reports last."""
    if (levels := _count_nesting(schema)) > _MAX_NESTING:
        yield f"{levels} levels of nesting exceeds limit of {_MAX_NESTING}."
    parts = [*_subschemas(schema)]
    properties = sum(len(_object_at(part, "properties")) for part in parts)
    if properties > _MAX_PROPERTIES:
        yield f"{properties} parameters exceeds limit of {_MAX_PROPERTIES}."
    values = sum(len(_array_at(part, "enum")) for part in parts)
    if values > _MAX_ENUM_VALUES:
        yield (
            f"Expected at most {_MAX_ENUM_VALUES} enum values in total within a single schema when using structured "
            f"outputs, but received {values}. Consider reducing the number of enums, or use 'strict: false' to opt out "
            "of structured outputs."
        )


def _object_at(schema: Json, name: str) -> Json:
    """Return an object member of a schema; empty if it has another type."""
    return as_object(schema.get(name))


def _texts(values: list[Any]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))


def _array_at(schema: Json, name: str) -> list[Any]:
    member = schema.get(name)
    return member if isinstance(member, list) else []
