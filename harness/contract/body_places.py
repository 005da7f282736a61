"""Reads and repairs places in a request's body, in the notation `input[].status`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

ABSENT: Any = object()
"""The value of a missing member."""
KINDS = ("absent", "null", "boolean", "number", "text", "list", "object")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_PLACE = re.compile(r"[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*")
_INDEX = re.compile(r"\[\d+\]")


def normalize_path(path: str) -> str:
    """Replace the indexes of a path: `input[3].status` becomes `input[].status`."""
    return _INDEX.sub("[]", path)


def type_of(holder: Any) -> str:
    """Return the type of an item, part or tool; a message may lack one."""
    if not isinstance(holder, dict):
        return ""
    kind = holder.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in holder else ""


def kind_of(value: Any) -> str:
    """Classify a value as one of KINDS."""
    if value is ABSENT:
        return "absent"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return (
        "number"
        if isinstance(value, int | float)
        else "text"
        if isinstance(value, str)
        else ("list" if isinstance(value, list) else "object")
    )


def is_place(text: str) -> bool:
    """Return whether a string is a place: names separated by dots, with `[]` for all elements of a list."""
    return bool(_PLACE.fullmatch(text))


def split_path(path: str) -> list[str | int]:
    """Split `tools[0].name` into `["tools", 0, "name"]`; a missing index is -1."""
    return [name or (int(index) if index else -1) for name, index in _STEP.findall(path)]


def value_at(body: Any, path: str) -> tuple[Any, Any]:
    """Look up the member at a path; returns the object that holds it, and its value or ABSENT."""
    holder, value = None, body
    for step in split_path(path):
        holder = value
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and 0 <= step < len(value) else ABSENT
            # A condition on a list's item applies to the members of that item.
            holder = value if isinstance(value, dict) else holder
        else:
            value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    return holder, value


def find_places(body: Any, at: str) -> Iterator[tuple[Any, Any]]:
    """Yield every object at a place like `input[].status`, with the value of the member or ABSENT."""
    return ((holder, value) for _, holder, value in walk_places(body, at))


def walk_places(body: Any, at: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the containing object and the value of every member at a place."""
    yield from _walk("", None, body, split_path(at))


def _walk(path: str, holder: Any, value: Any, steps: Sequence[str | int]) -> Iterator[tuple[str, Any, Any]]:
    if not steps:
        yield path, holder, value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        for index, part in enumerate(value if isinstance(value, list) else ()):
            yield from _walk(f"{path}[{index}]", part, part, rest)
    elif isinstance(value, dict) and step in value:
        yield from _walk(f"{path}.{step}" if path else step, value, value[step], rest)
    # A missing member is a place; a missing list contains no places.
    elif not any(isinstance(part, int) for part in rest):
        yield f"{path}.{step}" if path else step, value if isinstance(value, dict) else {}, ABSENT


def repair_body(body: Any, path: str, filler: Any) -> Any:
    """Copy a body without the member at a path; if the member is missing, set it to `filler`.

    The parts of an exempted body that violate the schema would surprise the rules and endpoints that follow.
    """
    return _repair(body, split_path(path), filler)


def _repair(value: Any, steps: Sequence[str | int], filler: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not isinstance(value, list) or not 0 <= step < len(value):
            return value
        return [*value[:step], *([_repair(value[step], rest, filler)] if rest else []), *value[step + 1 :]]
    if not isinstance(value, dict):
        return value
    if rest:
        return {**value, step: _repair(value[step], rest, filler)} if step in value else value
    if step in value:
        return {name: member for name, member in value.items() if name != step}
    return {**value, step: filler}
