"""Compares what a model reads in two requests, up to the first place that differs.

A model reads an item without its ids, status, annotations and other members that are for the client; a string is the
same to it as one part with this text. What it reads of an item is the item's view.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import count_shared, quote, shorten_json
from harness.items.kind import CALL_OF_OUTPUT

ABSENT: Final = object()
"""The value of a place that a request does not have."""
CONTEXT = 16
"""How many characters before the first that differs are quoted."""
MAX_DEPTH = 50
"""How deep a place can be; values below it are compared whole."""
_TEXT_PARTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_PART_MEMBERS = ("type", "image_url", "file_id", "file_url", "file_data", "filename", "input_audio", "refusal")
_CALL_MEMBERS = ("type", "name", "arguments", "input")
_CLIENT_CALLS = frozenset({"function_call", "custom_tool_call"})
_UNREAD_OF_TOOLS = ("authorization", "headers", "require_approval", "container")
_UPDATES = ("configuration_update", "additional_tools")
"""The types of items that change settings from their place on."""


class FirstDifference(NamedTuple):
    """The first place at which two values differ, such as `[2].description`, with both values there."""

    at: str
    before: Any
    now: Any

    @property
    def texts(self) -> tuple[str, str]:
        """Both values, quoted from shortly before the first character that differs; `nothing` for an absent one."""
        start = 0
        if isinstance(self.before, str) and isinstance(self.now, str):
            start = max(count_shared(self.before, self.now) - CONTEXT, 0)
        return _show(self.before, start), _show(self.now, start)


def _show(value: Any, start: int) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str):
        return quote(f"{'…' if start else ''}{value[start:]}")
    return shorten_json(value)


def find_difference(before: Any, now: Any, at: str = "", depth: int = MAX_DEPTH) -> FirstDifference | None:
    """Find the first place at which two JSON values differ, in the order of the earlier one; None if they are equal."""
    if before == now:
        return None
    if depth and isinstance(before, dict) and isinstance(now, dict):
        names = [*before, *(name for name in now if name not in before)]
        pairs: Iterator[tuple[str, Any, Any]] = (
            (f"{at}.{name}" if at else name, before.get(name, ABSENT), now.get(name, ABSENT)) for name in names
        )
    elif depth and isinstance(before, list) and isinstance(now, list):
        pairs = ((f"{at}[{index}]", _at(before, index), _at(now, index)) for index in range(max(len(before), len(now))))
    else:
        return FirstDifference(at, before, now)
    found = (find_difference(was, is_now, place, depth - 1) for place, was, is_now in pairs)
    return next(filter(None, found), None)


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def view_tools(body: Json) -> list[Json]:
    """Return what a model reads of the tools of a request."""
    return [
        {name: value for name, value in tool.items() if value is not None and name not in _UNREAD_OF_TOOLS}
        for tool in objects_in(body.get("tools"))
    ]


def view_items(items: Sequence[Json]) -> list[Json | None]:
    """Return the view of each item; None for reasoning, which is compared by what came before it."""
    return [_view_item(item) for item in items]


def _view_item(item: Json) -> Json | None:
    head, content = split_item(item)
    return {**head, content: _view_content(item.get(content))} if head and content else head


def split_item(item: Json) -> tuple[Json | None, str]:
    """Return what a model reads of an item besides its content, and the name of the member with the content, if any.

    Reasoning has neither.
    """
    kind = as_string(item.get("type"))
    if "role" in item and kind in ("message", ""):
        # A reasoning model reads a system message as the developer's.
        return {"role": "developer" if item["role"] == "system" else item["role"]}, "content"
    if kind in ("reasoning", "item_reference"):
        return None, ""
    if kind in CALL_OF_OUTPUT:
        return {"type": kind}, "output"
    if kind in _UPDATES:
        return {name: value for name, value in item.items() if name not in ("id", "agent") and value is not None}, ""
    names = _CALL_MEMBERS if kind in _CLIENT_CALLS else ("type", "name")
    return {name: _read_json(item[name]) for name in names if item.get(name) is not None}, ""


def view_part(part: Json) -> Any:
    """Return what a model reads of a part of a message or an output: the text of one with text."""
    if part.get("type") in _TEXT_PARTS:
        return as_string(part.get("text"))
    return {name: part[name] for name in _PART_MEMBERS if part.get(name) is not None}


def _view_content(content: Any) -> Any:
    """Return the parts of a message or an output; texts that follow each other are one, and a single one a string."""
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in map(view_part, objects_in(content)):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _read_json(value: Any) -> Any:
    """Return the value that the arguments of a call stand for: how they are spaced is not compared."""
    if not isinstance(value, str):
        return value
    try:
        read = orjson.loads(value)
        orjson.dumps(read)  # what is nested too deep to be written is too deep to be compared
        return read
    except (ValueError, TypeError):
        return value
