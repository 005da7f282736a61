"""The operations of overlays on a schema; one that does not fit, or changes nothing, is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from harness.core.exchange import Json

_PRESERVED_KEYWORDS = ("$schema", "title", "$defs")  # members at the top of a root that `replace` keeps


class OverlayEntryError(Exception):
    """An operation that does not fit the schema."""


def suggest_nearest(problem: str, name: str, names: Iterable[str]) -> str:
    """Append the nearest valid name to a problem with a name."""
    near = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"{problem}; nearest: {near[0]}" if near else problem


def merge_patch(value: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396): null removes a member, objects are merged, other values replace."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), part)
    return merged


def _define(root: Json, schemas: Json) -> None:
    _add_new(schemas, root.setdefault("$defs", {}), "$defs")


def _replace(node: Json, schema: Json) -> None:
    before = {name: node[name] for name in _PRESERVED_KEYWORDS if name in node}
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
