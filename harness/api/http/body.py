"""Parses bodies and query strings as JSON, with the errors that the API reports.

Duplicate names, invalid UTF-8 and invalid JSON (including NaN) are errors of the body as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl

import orjson

from harness.core.exchange import Json, JsonFault

MAX_BODY_DEPTH = 200
"""The maximum nesting of a parsed body; the API's own limit is unknown."""

_INTEGER = re.compile(r"-?[0-9]{1,300}")
_BOOLEANS = {"true": True, "false": False}


def parse_body(raw: bytes) -> tuple[Any, JsonFault | None]:
    """Parse the JSON value of a body, or return its fault; an empty body and `null` count as `{}`."""
    if not raw:
        return {}, None
    try:
        value = load_json(raw)
    except ValueError:
        return None, JsonFault("syntax" if _is_utf8(raw) else "unicode")
    if twice := find_duplicate_name(raw, value):
        return None, twice
    return ({} if value is None else value), None


def load_json(text: bytes | str) -> Any:
    """Parse JSON; ValueError if it is invalid, or nests deeper than what validates and renders values can follow."""
    value = orjson.loads(text)
    # Counting brackets first saves the walk: a text with few of them cannot be deep.
    marks = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if marks > MAX_BODY_DEPTH and _measure_depth(value) > MAX_BODY_DEPTH:
        raise ValueError(f"it nests more than {MAX_BODY_DEPTH} levels deep")
    return value


def copy_body(body: Any) -> Any:
    """Return a deep copy of a parsed body."""
    try:
        return orjson.loads(orjson.dumps(body))
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return deepcopy(body)


def _measure_depth(value: Any) -> int:
    level, deepest = [value], 0
    while level := [inner for value in level for inner in _children(value)]:
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
    """Count the object members of a parsed value at all depths; iterative, so that no depth overflows the stack."""
    count, values = 0, [value]
    for inner in values:
        if type(inner) is dict:
            count += len(inner)
            values += inner.values()
        elif type(inner) is list:
            values += inner
    return count


def find_duplicate_name(raw: bytes, value: Any) -> JsonFault | None:
    """Return the first duplicate name in a body, by a second, slower parse if counting cannot rule one out."""
    names = raw.count(b'":')
    if names == raw.count(b":") == count_members(value) and b"\\" not in raw:
        return None  # most bodies: each colon follows a name, and no name ends in a backslash
    if names - raw.count(b'\\":') == count_members(value) and not _needs_full_search(raw):
        return None
    return _find_duplicate(json.loads(raw, object_pairs_hook=tuple, parse_int=len), ())


def _needs_full_search(raw: bytes) -> bool:
    """Return whether `":` may not count the names exactly: a backslash ends one, or a space precedes a colon."""
    return b'\\\\":' in raw or b" :" in raw or b"\n:" in raw or b"\t:" in raw or b"\r:" in raw


def _find_duplicate(value: Any, path: tuple[str, ...]) -> JsonFault | None:
    """Return the first duplicate name; objects are tuples of pairs, as a dict would merge names; paths omit indices."""
    if isinstance(value, list):
        return next((found for element in value if (found := _find_duplicate(element, path))), None)
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
    """Parse a query string: the last value of a repeated name, or a list of all values if the name ends in `[]`."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    lists: dict[str, list[str]] = {name[:-2]: [] for name, _ in pairs if name.endswith("[]")}
    for name, value in pairs:
        lists.get(name.removesuffix("[]"), []).append(value)
    return {**dict(pair for pair in pairs if not pair[0].endswith("[]")), **lists}


def coerce_query(query: Mapping[str, Any], schema: Json) -> Json:
    """Type a query by a schema: strings become integers, booleans and arrays where `schema` says so and they fit."""
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
