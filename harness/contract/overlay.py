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

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from harness.contract.overlay_operations import ARGUMENT_TYPES, OVERLAY_OPERATIONS, OverlayEntryError, suggest_nearest
from harness.core.errors import SchemaError
from harness.core.exchange import Json

LEVELS = ("recorded", "reported", "documented", "typed", "assumed")
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
    several = entry.get("at") if isinstance(entry, dict) else None
    for place in several if isinstance(several, list) else ():
        yield _parse_entry(file, index, {**entry, "at": place})
    if not isinstance(several, list) or not several:
        yield _parse_entry(file, index, entry)


def _parse_entry(file: str, index: int, entry: Any) -> OverlayEntry:
    try:
        target, pointer = _parse_at(entry)
        operations = {name: entry[name] for name in OVERLAY_OPERATIONS if name in entry}
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
