"""What the parts of a text are: labels of values, pieces of forms, deltas of events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.cassettes.scrubbing.encodings import JsonPath, decode_string, find_strings, is_json


def find_label(path: JsonPath, value: str, labels: dict[JsonPath, str]) -> str:
    """The name beside a value: in `{"name": "DB_PASSWORD", "value": "…"}`, and in a list of headers or cookies."""
    *above, last = path or ("",)
    if last in ("name", "key", "Name", "Key", 0):
        labels[tuple(above)] = value
    elif last in ("value", "Value") or (last == 1 and _is_list_of_pairs(above)):
        return labels.get(tuple(above), "")
    return ""


def _is_list_of_pairs(path: Sequence[str | int]) -> bool:
    name = str(path[-2]).lower() if len(path) > 1 and isinstance(path[-1], int) else ""
    return "header" in name or "cookie" in name


def split_form(data: bytes) -> list[bytes]:
    """The pieces of a form (`multipart/form-data`), its values apart from the rest; empty for other bytes."""
    boundary = data[: data.find(b"\r\n") + 1].rstrip()
    if not boundary.startswith(b"--") or not data.rstrip().endswith(boundary + b"--"):
        return []
    return re.split(rb"(\r\n\r\n|(?:\r\n)?%s(?:--)?(?:\r\n)?)" % re.escape(boundary), data)


_DELTA_KEYS = ("type", "event", "item_id", "output_index", "content_index", "summary_index", "call_id", "id")


def find_deltas(event: str) -> Iterator[tuple[Any, JsonPath, str]]:
    """The deltas of an event: what they belong to, their path, and their text."""
    if '"delta"' not in event or not is_json(event):
        return
    value = json.loads(event, strict=False)
    objects = [value, value.get("data")] if isinstance(value, dict) else []
    owner = tuple(str(each.get(name)) for each in objects if isinstance(each, dict) for name in _DELTA_KEYS)
    for start, end, path, named in find_strings(event):
        if not named and "delta" in path and path[-1] not in ("type", "id"):
            yield (owner, path), path, decode_string(event[start:end])


def split_by_lengths(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """A text in pieces of these lengths; if its length has changed, all of it in the first."""
    fits = len(text) == sum(lengths)
    at = 0
    for number, length in enumerate(lengths):
        yield text[at : at + length] if fits else text if number == 0 else ""
        at += length
