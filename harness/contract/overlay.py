"""Overlays: sourced changes to generated schemas, and how they are parsed and applied.

An overlay file is a YAML or JSON list of entries:

    - at: $defs/FunctionToolParam#/properties/name    a root, or a definition wherever it occurs; then a JSON pointer
                                                      (or a list of such places)
      roots: [CreateResponse]                         narrows `$defs/…` to these roots, which must all have it
      merge: {maxLength: 64}                          one or more operations, applied in the order of OVERLAY_OPERATIONS
      source: https://…                               the evidence: a string or a list
      date: 2026-08-30                                the date of the evidence (a year, a month or a day); optional
      level: recorded                                 one of LEVELS
      why: …                                          optional
      since, until: 2026-05                           the first and last day of the entry (`core/dates.py`); optional

A name in `$defs` is the same type in all roots; an answer's type with the name of a request's is `answer__Name`.
Operations:

    define: {Name: schema}       new definitions in the root        members: {name: schema}    new properties
    replace: schema              instead of the whole schema        require, optional: [name]  in, out of `required`
    merge: patch                 an RFC 7396 merge patch            order: [name]              these properties first
    enum_add: [value]            more values of an enum or const    branches: [schema]         more branches of a union
    nullable: [name]             these properties may be null

An operation that does not fit the schema or changes nothing is stale, which is an error: the API or the SDK has
changed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import orjson
import yaml

from harness.contract.rule import LEVELS
from harness.core.errors import SchemaError
from harness.core.exchange import Json
from harness.core.json_values import as_object, merge_patch, pick

_PRESERVED_KEYWORDS = ("$schema", "title", "$defs")  # members at the top of a root that `replace` keeps


class OverlayEntryError(Exception):
    """An operation that does not fit the schema."""


def suggest_nearest(problem: str, name: str, names: Iterable[str]) -> str:
    """Append the nearest valid name to a problem with a name."""
    near = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"{problem}; nearest: {near[0]}" if near else problem


def _define(root: Json, schemas: Json) -> None:
    _add_new(schemas, root.setdefault("$defs", {}), "$defs")


def _replace(node: Json, schema: Json) -> None:
    before = pick(node, *_PRESERVED_KEYWORDS)
    node.clear()
    node.update(before | schema)


def _merge(node: Json, patch: Json) -> None:
    merged = merge_patch(node, patch)
    if merged == node:
        raise OverlayEntryError("`merge` changes nothing")
    node.clear()
    node.update(merged)


def _require(node: Json, names: Sequence[str]) -> None:
    members, required = _properties_of(node), node.get("required", [])
    for name in names:
        if name not in members:
            raise OverlayEntryError(suggest_nearest(f"`require`: no member {name!r}", name, members))
        if name in required:
            raise OverlayEntryError(f"`require`: {name!r} is required already")
    node["required"] = [*required, *names]


def _make_optional(node: Json, names: Sequence[str]) -> None:
    required = node.get("required", [])
    for name in names:
        if name not in required:
            raise OverlayEntryError(suggest_nearest(f"`optional`: {name!r} is not required", name, required))
    node["required"] = [name for name in required if name not in names]


def _add_members(node: Json, schemas: Json) -> None:
    _add_new(schemas, _properties_of(node), "members")


def _allow_null(node: Json, names: Sequence[str]) -> None:
    members = _properties_of(node)
    for name in names:
        if name not in members:
            raise OverlayEntryError(suggest_nearest(f"`nullable`: no member {name!r}", name, members))
        branches = members[name].get("anyOf", [members[name]])
        if {"type": "null"} in branches:
            raise OverlayEntryError(f"`nullable`: {name!r} may be null already")
        members[name] = {
            **{key: value for key, value in members[name].items() if "anyOf" in members[name] and key != "anyOf"},
            "anyOf": [*branches, {"type": "null"}],
        }


def _order_members(node: Json, names: Sequence[str]) -> None:
    members = _properties_of(node)
    for name in names:
        if name not in members:
            raise OverlayEntryError(suggest_nearest(f"`order`: no member {name!r}", name, members))
    ordered = {name: members[name] for name in names} | members
    if list(ordered) == list(members):
        raise OverlayEntryError("`order` changes nothing")
    node["properties"] = ordered


def _add_enum_values(node: Json, values: Sequence[Any]) -> None:
    present = [node["const"]] if "const" in node else node.get("enum")
    if present is None:
        raise OverlayEntryError(f"`enum_add`: no enum or const among {', '.join(node) or 'no keywords'}")
    if known := [value for value in values if value in present]:
        raise OverlayEntryError(f"`enum_add`: {known[0]!r} already exists")
    node.pop("const", None)
    node["enum"] = [*present, *values]


def _add_branches(node: Json, schemas: Sequence[Json]) -> None:
    if "anyOf" not in node:
        raise OverlayEntryError(f"`branches`: no union among {', '.join(node) or 'no keywords'}")
    if known := [schema for schema in schemas if schema in node["anyOf"]]:
        raise OverlayEntryError(f"`branches`: {known[0]!r} already exists")
    node["anyOf"] = [*node["anyOf"], *schemas]


def _properties_of(node: Json) -> Json:
    if "$ref" in node:
        raise OverlayEntryError(f"a $ref has no members; start at {node['$ref'].removeprefix('#/')}")
    if "properties" not in node and node.get("type") != "object":
        raise OverlayEntryError(f"not an object schema: {', '.join(node) or 'no keywords'}")
    members: Json = node.setdefault("properties", {})
    return members


def _add_new(schemas: Json, present: Json, what: str) -> None:
    for name in schemas:
        if name in present:
            raise OverlayEntryError(f"{name!r} is in {what} already")
    present.update(schemas)


OVERLAY_OPERATIONS: Mapping[str, Callable[[Json, Any], None]] = {
    "define": _define,
    "replace": _replace,
    "merge": _merge,
    "members": _add_members,
    "require": _require,
    "optional": _make_optional,
    "nullable": _allow_null,
    "order": _order_members,
    "enum_add": _add_enum_values,
    "branches": _add_branches,
}
"""The operations in the order of application, each applied to the schema at its place (`define`: to the root)."""

ARGUMENT_TYPES = {
    name: dict if name in ("define", "replace", "merge", "members") else list for name in OVERLAY_OPERATIONS
}

_DATE = re.compile(r"\d{4}(-\d\d){0,2}")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class OverlayEntry:
    """One entry of an overlay file.

    `target` is a root (`CreateResponse`) or a definition (`$defs/Name`), `pointer` the JSON pointer below it (`""` or
    `/properties/x`), `roots` the roots that a definition is narrowed to, `operations` the arguments by name, in order.
    """

    file: str
    index: int
    target: str
    pointer: str
    operations: Mapping[str, Any]
    source: tuple[str, ...]
    level: str
    date: str | None = None
    why: str | None = None
    roots: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""

    def __str__(self) -> str:
        pointer = f"#{self.pointer}" if self.pointer else ""
        return f"{self.file}[{self.index}] at {self.target}{pointer}"

    @property
    def definition(self) -> str | None:
        """The name of the definition; None if the target is a root."""
        return self.target.removeprefix("$defs/") if self.target.startswith("$defs/") else None

    def matching_schemas(self, root: str, schema: Json) -> list[Json]:
        """Return the schemas in a root that `target` names, which may be the root itself."""
        if self.definition is None:
            return [schema] if self.target == root else []
        if self.roots and root not in self.roots:
            return []
        found = [schema] if schema.get("title") == self.definition else []
        if self.definition in schema.get("$defs", {}):
            found.append(schema["$defs"][self.definition])
        if self.roots and not found:
            raise OverlayEntryError(
                suggest_nearest(f"{root} has no $defs/{self.definition}", self.definition, schema.get("$defs", {}))
            )
        return found


def parse_entries(file: str, text: str) -> list[OverlayEntry]:
    """Parse an overlay file into its entries; SchemaError with the file and the entry for an invalid one."""
    try:
        entries = orjson.loads(text) if text.startswith("[") else yaml.load(text, _LOADER)
    except (yaml.YAMLError, orjson.JSONDecodeError) as error:
        raise SchemaError(f"{file}: not readable: {error}") from None
    if not isinstance(entries, list):
        raise SchemaError(f"{file}: an overlay file is a list of entries, got {type(entries).__name__}")
    return [expanded for index, entry in enumerate(entries) for expanded in _expand_entry(file, index, entry)]


def _expand_entry(file: str, index: int, entry: Any) -> Iterator[OverlayEntry]:
    several = as_object(entry).get("at")
    for place in several if isinstance(several, list) else ():
        yield _parse_entry(file, index, {**entry, "at": place})
    if not isinstance(several, list) or not several:
        yield _parse_entry(file, index, entry)


def _parse_entry(file: str, index: int, entry: Any) -> OverlayEntry:
    try:
        target, pointer = _parse_at(entry)
        operations = pick(entry, *OVERLAY_OPERATIONS)
        if not operations:
            raise OverlayEntryError(f"no operation; pass one of {', '.join(OVERLAY_OPERATIONS)}")
        for name, value in operations.items():
            if not isinstance(value, ARGUMENT_TYPES[name]):
                raise OverlayEntryError(f"`{name}` takes a {ARGUMENT_TYPES[name].__name__}, got {value!r}")
        roots = frozenset(_read_texts(entry, "roots")) if "roots" in entry else frozenset[str]()
        if roots and not target.startswith("$defs/"):
            raise OverlayEntryError("`roots` narrows `at: $defs/…` only")
        source, level, date = _read_texts(entry, "source"), _read_level(entry), _read_date(entry, "date")
        since, until = _read_date(entry, "since") or "", _read_date(entry, "until") or ""
    except OverlayEntryError as problem:
        raise SchemaError(f"{file}[{index}]: {problem}") from None
    why = entry.get("why")
    return OverlayEntry(file, index, target, pointer, operations, source, level, date, why, roots, since, until)


def _parse_at(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict):
        raise OverlayEntryError(f"an entry is a mapping, got {entry!r}")
    for name in entry:
        if name not in _ENTRY_KEYS:
            raise OverlayEntryError(suggest_nearest(f"unknown key `{name}`", str(name), _ENTRY_KEYS))
    at = entry.get("at")
    if not isinstance(at, str) or not at:
        raise OverlayEntryError("`at` is missing; pass a root or `$defs/Name`, then `#/json/pointer`")
    target, _, pointer = at.partition("#")
    if pointer and not pointer.startswith("/"):
        raise OverlayEntryError(f"`at: {at}`: the pointer after # starts with /")
    return target, pointer


def _read_texts(entry: Json, key: str) -> tuple[str, ...]:
    value = entry.get(key)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise OverlayEntryError(f"`{key}` is a text or a list of texts, got {value!r}")
    return tuple(texts)


def _read_level(entry: Json) -> str:
    if entry.get("level") not in LEVELS:
        raise OverlayEntryError(f"`level` is one of {', '.join(LEVELS)}, got {entry.get('level')!r}")
    return str(entry["level"])


def _read_date(entry: Json, name: str) -> str | None:
    if name not in entry:
        return None
    if not _DATE.fullmatch(str(entry[name])):
        raise OverlayEntryError(f"`{name}` is YYYY, YYYY-MM or YYYY-MM-DD, got {entry[name]!r}")
    return str(entry[name])


def apply_entries(root: str, schema: Json, overlays: Iterable[OverlayEntry]) -> Iterator[str]:
    """Apply overlays to a root, in place and in order; yields the stale ones: file, entry, place, problem."""
    for overlay in overlays:
        try:
            for place in overlay.matching_schemas(root, schema):
                node = _resolve_pointer(place, overlay.pointer)
                for name, argument in overlay.operations.items():
                    # Roots must not share an entry's value, which a later entry may change in one of them.
                    OVERLAY_OPERATIONS[name](schema if name == "define" else node, deepcopy(argument))
        except OverlayEntryError as problem:
            yield f"{overlay} in {root}: {problem}"


def _resolve_pointer(place: Json, pointer: str) -> Json:
    node: Any = place
    for step in (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]):
        node = _follow_step(node, step)
    if not isinstance(node, dict):
        raise OverlayEntryError(f"the pointer leads to {node!r}, which is not a schema object; merge into its parent")
    return node


def _follow_step(node: Any, step: str) -> Any:
    if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
        return node[int(step)]
    if isinstance(node, dict) and step in node:
        return node[step]
    if isinstance(node, dict) and "$ref" in node:
        raise OverlayEntryError(f"`{step}` is behind a $ref; start at {node['$ref'].removeprefix('#/')}")
    names = map(str, range(len(node))) if isinstance(node, list) else node if isinstance(node, dict) else ()
    raise OverlayEntryError(suggest_nearest(f"the pointer does not resolve at `{step}`", step, names))


_ENTRY_KEYS = (*OVERLAY_OPERATIONS, "at", "roots", "source", "date", "level", "why", "since", "until")
