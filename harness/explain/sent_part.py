"""Finds the part of a request that an error points to."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from harness.core.exchange import Request
from harness.core.text import pluralize, quote, shorten, shorten_json

_PATH_STEP = re.compile(r"\[(\d+)]|([^.\[\]]+)")
_LEADING_MEMBERS = ("type", "role")
"""The members that identify an object; they are shown beside the relevant ones."""


def describe_sent_part(request: Request, param: str | None, names: Collection[str] = ()) -> str:
    """Show the part of a request that an error is about: the body at `param`, or the deepest part that exists.

    Lists and objects are cut down to what contains one of the `names`, which are ids or names of members.
    """
    if request.fault:
        return shorten(request.raw.decode("utf-8", "replace"))
    if not isinstance(request.body, dict):
        return shorten(f"{request.method} {request.path}") if request.body is None else shorten_json(request.body)
    found, value, missing = resolve_path(request.body, param or "")
    part = shorten(_cut_around(value, frozenset(names)), 200) if _holds(value, names) else shorten_json(value)
    if not missing:
        return f"{found} = {part}" if found else part
    return f"no {missing} in {found or 'the body'}: {part}"


def resolve_path(body: Any, path: str) -> tuple[str, Any, str]:
    """Follow a path such as `input[0].role`; return the place reached, its value, and the step that failed (or "")."""
    reached, value = "", body
    for match in _PATH_STEP.finditer(path):
        index, name = match.groups()
        step: Any = name if index is None else int(index)
        try:
            value = value[step]
        except (IndexError, KeyError, TypeError):
            return reached, value, match[0]
        reached += f"[{index}]" if name is None else f".{name}" if reached else name
    return reached, value, ""


def _holds(value: Any, names: Collection[str]) -> bool:
    """Return whether a value contains one of the names, as a string or as the name of a member."""
    if isinstance(value, str):
        return value in names
    if isinstance(value, dict):
        return any(name in names or _holds(member, names) for name, member in value.items())
    return isinstance(value, list) and any(_holds(entry, names) for entry in value)


def _cut_around(value: Any, names: Collection[str]) -> str:
    """Show a value, with the entries and members that contain none of the names replaced by their number."""
    if isinstance(value, list):
        return f"[{', '.join(_cut_list(value, names))}]"
    if isinstance(value, dict) and _holds(value, names):
        return f"{{{', '.join(_cut_object(value, names))}}}"
    return quote(value, 60) if isinstance(value, str) else shorten_json(value, 1)


def _cut_list(entries: Sequence[Any], names: Collection[str]) -> Iterator[str]:
    hidden = 0
    for entry in entries:
        if _holds(entry, names):
            if hidden:
                yield f"… {pluralize(hidden, 'entry', 'entries')}"
            hidden = 0
            yield _cut_around(entry, names)
        else:
            hidden += 1
    if hidden:
        yield f"… {pluralize(hidden, 'entry', 'entries')}"


def _cut_object(members: dict[str, Any], names: Collection[str]) -> Iterator[str]:
    shown = 0
    for name, value in members.items():
        if name in names or name in _LEADING_MEMBERS or _holds(value, names):
            shown += 1
            yield f"{json.dumps(name)}: {_cut_around(value, names) if _holds(value, names) else shorten_json(value, 1)}"
    if hidden := len(members) - shown:
        yield f"… {hidden} more"
