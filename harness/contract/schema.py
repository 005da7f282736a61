"""The effective schemas: generated from the SDK's types, corrected by sourced overlays, compiled.

    schemas/openai/<Root>.json    one JSON Schema 2020-12 per root, generated, never edited
    schemas/overlays/*.yaml       corrections of these, applied in the order of the file names
    schemas/lock.json             their sources

Entries of overlays may be dated: a root has one schema for each set of them that was ever valid together. `as_of` is
the requested day. Everything here is cached and shared, so callers must not change it.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from harness.contract.compile_schema import DRAFT, compile_schema
from harness.contract.overlay import OverlayEntry, apply_entries, parse_entries, suggest_nearest
from harness.core.dates import CONTRACT_DATE, days_of_change, is_valid_on, start_of_epoch
from harness.core.errors import SchemaError
from harness.core.exchange import Json
from harness.core.limits import paused_collection

RESPONSE_EVENT_SCHEMA = "ResponseStreamEvent"
MAX_DAYS = 4096
"""The number of root and day pairs for which the schema is cached."""
JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_HERE = Path(__file__).parent.parent


def schemas_directory() -> Path:
    """Return the schemas directory, inside an installed package or next to it in a checkout; SchemaError if missing."""
    places = (_HERE / "schemas", _HERE.parent / "schemas")
    for place in places:
        if (place / "openai").is_dir():
            return place
    raise SchemaError(
        f"no schemas in {places[0]} or {places[1]}: reinstall responses-harness, or run `python -m tools.schemas --sync`"
    )


@lru_cache(maxsize=MAX_DAYS)
def load(root: str, as_of: str = CONTRACT_DATE) -> Json:
    """Load the schema of a root (`CreateResponse`) with overlays; SchemaError if the root or an overlay is invalid."""
    return _load_epoch(root, start_of_epoch(as_of, changes_of(root)))


@lru_cache(maxsize=MAX_DAYS)
def validator(root: str, as_of: str = CONTRACT_DATE) -> jsonschema_rs.Validator:
    """Compile the schema of a root; the validator has `is_valid` and `iter_errors`."""
    return _compile_epoch(root, start_of_epoch(as_of, changes_of(root)))


@cache
def _load_epoch(root: str, epoch: str) -> Json:
    return read_schema(schemas_directory(), root, _installed_overlays(), epoch)


@cache
def _compile_epoch(root: str, epoch: str) -> jsonschema_rs.Validator:
    return compile_schema(_load_epoch(root, epoch))


@cache
def changes_of(root: str) -> tuple[str, ...]:
    """Return the days on which a root's schema changes, in order."""
    entries = _installed_overlays()
    dated = [entry for entry in entries if entry.since or entry.until]
    if not dated:
        return ()
    # What an overlay defines may occur in any root.
    defined = {name for entry in entries for name in entry.operations.get("define", ())}
    names = {root, *defined, *(generated := read_generated(schemas_directory(), root)).get("$defs", ())}
    names.add(str(generated.get("title")))
    return days_of_change(
        entry
        for entry in dated
        if (root in entry.roots if entry.roots else (entry.definition or entry.target) in names)
    )


_PART_VALIDATORS: dict[tuple[int, int], jsonschema_rs.Validator] = {}


def part_validator(root: Json, part: Json) -> jsonschema_rs.Validator:
    """Compile a part of a root's schema, such as that of an array's items; the result is cached for ever."""
    key = (id(root), id(part))  # parts of cached schemas are never freed, so their ids are stable
    if key not in _PART_VALIDATORS:
        schema = with_definitions({"$schema": DRAFT, "allOf": [part]}, root.get("$defs", {}))
        _PART_VALIDATORS[key] = compile_schema(schema)
    return _PART_VALIDATORS[key]


def root_names(place: Path) -> list[str]:
    """Return the sorted names of all roots in a schemas directory."""
    return sorted(file.stem for file in (place / "openai").glob("*.json"))


def load_overlays(place: Path) -> list[OverlayEntry]:
    """Load all overlays of a schemas directory in the order of application; SchemaError for an invalid entry."""
    known = root_names(place)
    entries = [
        entry
        for file in sorted((place / "overlays").glob("*.yaml"))
        for entry in parse_entries(file.name, file.read_text(encoding="utf-8"))
    ]
    for entry in entries:
        for name in entry.roots if entry.definition else [entry.target]:
            if name not in known:
                raise SchemaError(suggest_nearest(f"{entry}: no root {name!r}", name, known))
    return entries


def read_schema(place: Path, root: str, entries: Iterable[OverlayEntry], as_of: str = CONTRACT_DATE) -> Json:
    """Read the schema of a root in a schemas directory, with a day's overlays; SchemaError lists the stale ones."""
    schema = read_generated(place, root)
    valid = (entry for entry in entries if is_valid_on(as_of, entry.since, entry.until))
    if problems := list(apply_entries(root, schema, valid)):
        raise SchemaError("stale overlays:\n" + "\n".join(problems))
    return schema


def read_generated(place: Path, root: str) -> Json:
    """Read the schema of a root as generated, without overlays."""
    file = place / "openai" / f"{root}.json"
    if not file.is_file():
        raise SchemaError(suggest_nearest(f"no schema {root!r} in {file.parent}", root, root_names(place)))
    try:
        schema: Json = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{file}: not JSON: {error}; run `python -m tools.schemas --sync`") from None
    return schema


def deref(root: Json, schema: Json) -> Json:
    """Follow a chain of `#/$defs/Name` references to the schema behind it."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def allowed_types(root: Json, schema: Json) -> frozenset[str]:
    """Return the JSON types that a schema allows (`integer` also counts as `number`)."""
    schema = deref(root, schema)
    if "anyOf" in schema:
        return frozenset().union(*(allowed_types(root, branch) for branch in schema["anyOf"]))
    if "type" in schema:
        named = schema["type"]
        return frozenset([named] if isinstance(named, str) else named)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    # A schema without a type allows every type.
    return frozenset(json_type(value) for value in values) or frozenset((*JSON_TYPES.values(), "null"))


def json_type(value: Any) -> str:
    """Return the JSON type of a value."""
    return "null" if value is None else JSON_TYPES[type(value)]


def discriminator_values(root: Json, schema: Json, key: str) -> list[str]:
    """Return the values of `key` that select a branch of a union."""
    schema = deref(root, schema)
    if "anyOf" in schema:
        return [name for branch in schema["anyOf"] for name in discriminator_values(root, branch, key)]
    member = deref(root, schema.get("properties", {}).get(key, {}))
    for option in member.get("anyOf", [member]):
        if "const" in option or "enum" in option:
            return list(option.get("enum", [option.get("const")]))
    return []


def with_definitions(schema: Json, definitions: Json) -> Json:
    """Add to a schema only the definitions that it refers to, in their order."""
    needed: set[str] = set()
    queue = [schema]
    while queue:
        for name in _referenced_names(queue.pop()):
            if name not in needed:
                needed.add(name)
                queue.append(definitions[name])
    return schema | {"$defs": {name: definitions[name] for name in definitions if name in needed}} if needed else schema


def _referenced_names(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _referenced_names(part)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix("#/$defs/")
        for part in node.values():
            yield from _referenced_names(part)


@cache
def _installed_overlays() -> list[OverlayEntry]:
    with paused_collection():
        return load_overlays(schemas_directory())
