"""Short forms of JSON values, items and text for reports, journals and transcripts.

Accepts any input that a client may send, well formed or not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.core.exchange import Exchange, Json

LINE_WIDTH = 100
"""The default maximum length of a line."""
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


def item_text(item: Json) -> str:
    """Return the text of an item; a part without text is shown as its type in brackets."""
    for member in _TEXT_MEMBERS:
        value = item.get(member)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return " ".join(_part_text(part) for part in value if isinstance(part, dict))
    return ""


def _part_text(part: Json) -> str:
    text = part.get("text") or part.get("refusal") or f"[{part.get('type')}]"
    return str(text["value"] if isinstance(text, dict) and "value" in text else text)


def answer_error(exchange: Exchange) -> Json:
    """Return the error object of an answer: its `error`, or the body itself where Azure has no such member."""
    body = exchange.answer.body if isinstance(exchange.answer.body, dict) else {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {}


def quote(text: str, width: int = 40) -> str:
    """Shorten a string and quote it on one line."""
    return json.dumps(shorten(text, width), ensure_ascii=False)


def shorten(text: str, width: int = LINE_WIDTH, *, tail: int = 0, mark: str = "…") -> str:
    """Shorten a string to at most `width` characters: its beginning and its last `tail` characters around `mark`."""
    if len(text) <= width:
        return text
    return f"{text[: width - len(mark) - tail]}{mark}{text[len(text) - tail :]}"


def shorten_repr(value: Any, width: int, *, tail: int = 0, mark: str = "…") -> str:
    """Shorten the `repr` of a value to at most `width` characters."""
    return shorten(repr(value), width, tail=tail, mark=mark)


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Return `1 turn` or `2 turns`; `plural` is for nouns without a plural in `s`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def _render_value(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return quote(value, 60)
    if isinstance(value, dict):
        pairs = (
            [f"{json.dumps(name)}: {_render_value(member, depth - 1)}" for name, member in list(value.items())[:6]]
            if depth
            else []
        )
        return f"{{{_join_shown(pairs, len(value))}}}"
    if isinstance(value, list):
        return f"[{_join_shown([_render_value(element, depth - 1) for element in value[:3]] if depth else [], len(value))}]"
    return json.dumps(value)


def _join_shown(shown: Sequence[str], total: int) -> str:
    hidden = total - len(shown)
    return ", ".join(chain(shown, [f"… {hidden} more" if shown else "…"] if hidden else []))
