"""From the bytes of a body and the texts of a query to JSON, with the faults of the transport the API names.

Duplicate names, invalid UTF-8 and anything that is not JSON (NaN included) are errors of the body as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from harness.core.exchange import Json, JsonFault

MAX_BODY_DEPTH = 200
"""Nesting beyond which a body counts as unparseable; the API's own limit is not known."""

_INTEGER = re.compile(r"-?[0-9]{1,300}")
_BOOLEANS = {"true": True, "false": False}


def parse_body(raw: bytes) -> tuple[Any, JsonFault | None]:
    """The JSON value of a body, or the fault it has; an empty body and `null` count as `{}`."""
    if not raw:
        return {}, None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None, JsonFault("syntax" if _is_utf8(raw) else "unicode")
    if raw.count(b"[") + raw.count(b"{") > MAX_BODY_DEPTH and _measure_depth(value) > MAX_BODY_DEPTH:
        return None, JsonFault("syntax")
    if twice := find_duplicate_name(raw, value):
        return None, twice
    return ({} if value is None else value), None


def _measure_depth(value: Any) -> int:
    level, deepest = [value], 0
    while level := [inner for one in level for inner in _children(one)]:
        deepest += 1
    return deepest


def _children(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def count_members(value: Any) -> int:
    """How many object members a parsed value has, at all depths; iterative, so that depth cannot hurt."""
    count, found = 0, [value]
    for one in found:
        if type(one) is dict:
            count += len(one)
            found += one.values()
        elif type(one) is list:
            found += one
    return count


def find_duplicate_name(raw: bytes, value: Any) -> JsonFault | None:
    """The first duplicate name of a body; a second, slower parse looks for it when a count cannot rule one out."""
    names = raw.count(b'":') - raw.count(b'\\":')
    if names == count_members(value) and not _needs_full_search(raw):
        return None
    return _find_duplicate(json.loads(raw, object_pairs_hook=tuple, parse_int=len), ())


def _needs_full_search(raw: bytes) -> bool:
    """Whether a count of `":` may be no count of names: a name ends in a backslash, or white space precedes a colon."""
    return b'\\\\":' in raw or b" :" in raw or b"\n:" in raw or b"\t:" in raw or b"\r:" in raw


def _find_duplicate(value: Any, path: tuple[str, ...]) -> JsonFault | None:
    """Objects come as tuples of pairs, to see the names a dict would merge; array indices are not part of a path."""
    if isinstance(value, list):
        return next((found for one in value if (found := _find_duplicate(one, path))), None)
    if not isinstance(value, tuple):
        return None
    seen: set[str] = set()
    for name, inner in value:
        if name in seen:
            return JsonFault("duplicate", name, ".".join((*path, name)))
        seen.add(name)
        if found := _find_duplicate(inner, (*path, name)):
            return found
    return None


def parse_query(query: bytes) -> dict[str, str | list[str]]:
    """The parameters of a query string: of a repeated one the last, all of those whose names end in `[]`."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    lists: dict[str, list[str]] = {name[:-2]: [] for name, _ in pairs if name.endswith("[]")}
    for name, value in pairs:
        lists.get(name.removesuffix("[]"), []).append(value)
    return {**dict(pair for pair in pairs if not pair[0].endswith("[]")), **lists}


def coerce_query(query: Mapping[str, Any], schema: Json) -> Json:
    """A query as JSON: its texts become integers, booleans and arrays where `schema` wants one and the text is one."""
    members = schema.get("properties", {})
    return {name: _coerce_value(text, members.get(name, {}).get("type")) for name, text in query.items()}


def _coerce_value(text: Any, type: str | None) -> Any:
    if type == "array":
        return text if isinstance(text, list) else [text]
    if not isinstance(text, str):
        return text
    if type == "boolean":
        return _BOOLEANS.get(text, text)
    return int(text) if type == "integer" and _INTEGER.fullmatch(text) else text
