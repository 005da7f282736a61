"""Members of the objects in other recorders' files, whose names differ in case, `_` and `-` only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.core.exchange import Json
from harness.core.headers import join_headers


def normalize_names(value: Any) -> Any:
    """Write the names of an object in lower case, without `_` and `-`; any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return {str(name).lower().replace("_", "").replace("-", ""): member for name, member in value.items()}


def first_present(members: Json, *names: str) -> Any:
    """Find the first of these members that is not null."""
    for name in names:
        if (value := members.get(name)) is not None:
            return value
    return None


def name_value_pairs(value: Any) -> Iterable[tuple[str, Any]]:
    """List the pairs of an object, of a list of `{name, value}` or of pairs, or of a flat list of both."""
    if isinstance(value, dict):
        return [(str(name), member) for name, member in value.items()]
    if not isinstance(value, list):
        return []
    if all(isinstance(element, str) for element in value):
        return list(zip(value[::2], value[1::2], strict=False))
    objects = (normalize_names(pair) for pair in value if isinstance(pair, dict))
    pairs = [(str(first_present(named, "name", "key")), named.get("value")) for named in objects]
    return pairs + [(str(pair[0]), pair[1]) for pair in value if isinstance(pair, list) and len(pair) == 2]


def member_text(value: Any) -> str:
    """Write a header or parameter as text: several values joined by commas, a matcher's expected value."""
    if isinstance(value, list):
        return ", ".join(map(member_text, value))
    if isinstance(value, dict):
        return member_text(first_present(normalize_names(value), "equalto", "value", "string"))
    return value.decode("latin-1") if isinstance(value, bytes) else "" if value is None else str(value)


def headers_of(value: Any) -> dict[str, str]:
    """Headers in any form by their names in lower case."""
    return join_headers([(name.lower(), member_text(values)) for name, values in name_value_pairs(value)])
