"""Short forms of JSON values, items and text for reports, journals and transcripts.

Accepts any input that a client may send, well formed or not.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, compress, count, islice
from operator import ne
from typing import Any

LINE_WIDTH = 100
"""The default maximum length of a line."""
MAX_QUOTED = 1_000
"""The maximum length of a value that a message quotes."""
_MAX_MEMBERS, _MAX_DEPTH, _MAX_BITS = 200, 20, 3_000
"""How much of a quoted value is rendered: its first members and entries, its depth; and the size of an integer."""
encode_json: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False).encode
"""Writes a value as readable JSON; `json.dumps` with options would make an encoder for each."""
_COLLECTIONS: dict[object, Any] = {kind.__repr__: kind for kind in (dict, list, tuple, set, frozenset)}
"""The classes that are rendered entry by entry, by the method that does; a class with its own `repr` keeps it."""
_TEXT_MEMBERS = ("content", "output", "arguments", "input", "text", "summary")
"""The members that may hold the text of an item, in order of preference."""
_NAME_MEMBERS = ("name", "call_id", "approval_request_id")


def shorten_json(value: Any, depth: int = 3) -> str:
    """Shorten a JSON value to at most 160 characters: its first members, the beginning of each string."""
    return shorten(_render_value(value, depth), 160)


def summarize_item(item: Any, width: int = 40) -> str:
    """Summarize an item in one line: role or type, name or `call_id`, the beginning of its text."""
    if not isinstance(item, dict):
        return shorten_json(item, 1)
    named = [item.get("role") or item.get("type") or "item", next(filter(None, map(item.get, _NAME_MEMBERS)), None)]
    text = item_text(item)
    shown = shorten(text, width) if text.startswith(("{", "[")) else quote(text, width) if text else ""
    return " ".join([*(shorten(str(word), 40) for word in named if word), *([shown] if shown else [])])


def summarize_input(input: Any) -> str:
    """Summarize a request's input in one line: the text, or the number of items and the last item."""
    if isinstance(input, str):
        return quote(input)
    if not isinstance(input, list) or not input:
        return "" if input is None else shorten_json(input, 1)
    last = summarize_item(input[-1])
    return last if len(input) == 1 else f"{len(input)} items, last: {last}"


def item_text(item: dict[str, Any]) -> str:
    """Return the text of an item; a part without text is shown as its type in brackets."""
    for member in _TEXT_MEMBERS:
        value = item.get(member)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return " ".join(_part_text(part) for part in value if isinstance(part, dict))
    return ""


def _part_text(part: dict[str, Any]) -> str:
    text = part.get("text") or part.get("refusal") or f"[{part.get('type')}]"
    return str(text["value"] if isinstance(text, dict) and "value" in text else text)


def quote(text: str, width: int = 40) -> str:
    """Shorten a string and quote it on one line."""
    return encode_json(shorten(text, width))


def shorten(text: str, width: int = LINE_WIDTH, *, tail: int = 0, mark: str = "…") -> str:
    """Shorten a string to at most `width` characters: its beginning and its last `tail` characters around `mark`."""
    if len(text) <= width:
        return text
    return f"{text[: width - len(mark) - tail]}{mark}{text[len(text) - tail :]}"


def show(value: Any, width: int = MAX_QUOTED) -> str:
    """Show a value in a message: the beginning of its `repr`, made without rendering all of a large value."""
    try:
        return shorten(repr(excerpt(value)), width, tail=width // 4)
    except Exception as problem:  # of a class of the user's
        return f"<{type(value).__name__}, of which repr() raises {type(problem).__name__}>"


def excerpt(value: Any) -> Any:
    """Copy as much of a value as a message can quote, whatever its size, depth and kind; the rest becomes `…`."""
    return _copy_part(value, [_MAX_MEMBERS], 0)


def _copy_part(value: Any, left: list[int], depth: int) -> Any:
    """Copy a value with its members, as long as `left[0]`, which counts down, allows more of them."""
    if isinstance(value, str):
        return value if len(value) <= MAX_QUOTED else f"{value[: MAX_QUOTED // 2]}…{value[-MAX_QUOTED // 4 :]}"
    if isinstance(value, bytes | bytearray):
        return value[:MAX_QUOTED]
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length():,} bits"
    kind = _COLLECTIONS.get(type(value).__repr__)
    if kind is None:
        return value
    if depth > _MAX_DEPTH:
        return "…"
    parts = list[Any]()
    for part in value.items() if kind is dict else value:
        if left[0] <= 0:
            parts.append(("…", f"{len(value) - len(parts)} more") if kind is dict else "…")
            break
        left[0] -= 1
        sides = part if kind is dict else (part,)
        copied = tuple(_copy_part(side, left, depth + 1) for side in sides)
        parts.append(copied if kind is dict else copied[0])
    return kind(parts)


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Return `1 turn` or `2 turns`; `plural` is for nouns without a plural in `s`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def _render_value(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return quote(value, 60)
    if isinstance(value, dict):
        pairs = (
            [f"{quote(str(name), 60)}: {_render_value(member, depth - 1)}" for name, member in islice(value.items(), 6)]
            if depth
            else []
        )
        return f"{{{_join_shown(pairs, len(value))}}}"
    if isinstance(value, list):
        return f"[{_join_shown([_render_value(element, depth - 1) for element in value[:3]] if depth else [], len(value))}]"
    return json.dumps(excerpt(value))


def _join_shown(shown: Sequence[str], total: int) -> str:
    hidden = total - len(shown)
    return ", ".join(chain(shown, [f"… {hidden} more" if shown else "…"] if hidden else []))


_UNPRINTABLE = "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
"""Control characters except tab and line feed, bidirectional marks, line separators and unpaired surrogates."""


def escape_controls(text: str) -> str:
    r"""Escape control characters as JSON does (`\u001b`), so that JSON keeps its value."""
    return text if text.isprintable() else _unprintable().sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _unprintable() -> re.Pattern[str]:
    """Compile the pattern once it is needed: the plugin imports this module in runs that need no mock."""
    return re.compile(_UNPRINTABLE)


def escape_values(value: Any) -> Any:
    """Escape the strings and names of a JSON value for display."""
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {escape_controls(name): escape_values(member) for name, member in value.items()}
    return [escape_values(element) for element in value] if isinstance(value, list) else value


def count_shared(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Count the elements with which both begin."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))


def share_of_ends(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return which share of the longer sequence the common beginning and the common end make up."""
    head = count_shared(one, other)
    tail = count_shared(one[head:][::-1], other[head:][::-1])
    longer = max(len(one), len(other))
    return (head + tail) / longer if longer else 1.0
