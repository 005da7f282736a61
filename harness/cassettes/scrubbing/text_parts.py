"""Splits a text into its parts: labels of values, pieces of forms, deltas of events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness.cassettes.scrubbing.encodings import JsonPath, decode_string, find_strings, is_json

_LABELS = re.compile(r'"kty"|"[Vv]alue"|header|cookie', re.I)
_PRIVATE_MEMBERS = {(name,) for name in ("d", "p", "q", "dp", "dq", "qi", "k", "r", "t")}


def find_labels(text: str, strings: Iterable[tuple[int, int, JsonPath, bool]]) -> dict[JsonPath, str]:
    """Find the names beside values in a JSON text, by the path of their object; a JSON Web Key gets an empty one."""
    labels: dict[JsonPath, str] = {}
    for start, end, path, named in strings if _LABELS.search(text) else ():
        last = path[-1] if path and not named else None
        if last == "kty":
            labels[path[:-1]] = ""
        elif last in ("name", "key", "Name", "Key") or (last == 0 and _is_list_of_pairs(path[:-1])):
            labels[path[:-1]] = decode_string(text[start:end])
    return labels


def find_label(path: JsonPath, labels: dict[JsonPath, str]) -> str:
    """Find the name beside a value, as in `{"name": "DB_PASSWORD", "value": "…"}` or in lists of headers or cookies."""
    *above, last = path or ("",)
    return labels.get(tuple(above), "") if last in ("value", "Value", 1) else ""


def is_private_member(path: JsonPath, labels: dict[JsonPath, str]) -> bool:
    """Return whether this is a private member of a JSON Web Key."""
    return path[-1:] in _PRIVATE_MEMBERS and labels.get(path[:-1]) == ""


def _is_list_of_pairs(path: Sequence[str | int]) -> bool:
    name = str(path[-2]).lower() if len(path) > 1 and isinstance(path[-1], int) else ""
    return "header" in name or "cookie" in name


def split_form(data: bytes) -> list[bytes]:
    """Split a form (`multipart/form-data`) into pieces, with its values separate; empty for other bytes."""
    boundary = data[: data.find(b"\r\n") + 1].rstrip()
    if not boundary.startswith(b"--") or not data.rstrip().endswith(boundary + b"--"):
        return []
    return re.split(rb"(\r\n\r\n|(?:\r\n)?%s(?:--)?(?:\r\n)?)" % re.escape(boundary), data)


_DELTA_KEYS = ("type", "event", "item_id", "output_index", "content_index", "summary_index", "call_id", "id")


def find_deltas(event: str) -> Iterator[tuple[Any, JsonPath, str]]:
    """Yield the deltas of an event: owner, path, and text."""
    if '"delta"' not in event or not is_json(event):
        return
    value = json.loads(event, strict=False)
    objects = [value, value.get("data")] if isinstance(value, dict) else []
    owner = tuple(str(holder.get(name)) for holder in objects if isinstance(holder, dict) for name in _DELTA_KEYS)
    for start, end, path, named in find_strings(event):
        if not named and "delta" in path and path[-1] not in ("type", "id"):
            yield (owner, path), path, decode_string(event[start:end])


def split_by_lengths(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """Split a text into pieces of these lengths; if its length has changed, the first piece holds all of it."""
    fits = len(text) == sum(lengths)
    at = 0
    for number, length in enumerate(lengths):
        yield text[at : at + length] if fits else text if number == 0 else ""
        at += length
