"""Finds the item of a history that a text contains as JSON or as a Python `repr`."""

import re
from ast import literal_eval
from contextlib import suppress
from typing import Any
from warnings import catch_warnings, simplefilter

import orjson

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, is_assistant, is_typed, item_type, message_text
from harness.analysis.history.request import OutputItem
from harness.core.exchange import Json
from harness.core.json_values import objects_in
from harness.items.kind import CALL_OF_OUTPUT

LONGEST_PARSED_TEXT = 100_000
"""The maximum length in characters of a text that is parsed as an item."""
_MAY_BE_PRINTED = re.compile(r"[\[{]|[A-Z]\w*\(")
"""Matches the beginning of an item's JSON or `repr`."""
_PRINTED_OBJECT = re.compile(r"(?P<list>\[)?[A-Z]\w*\(.*?\b(?:call_id|id)='(?P<id>[^']+)'.*\)(?(list)\])", re.S)
"""Matches the `repr` of a Python object with an id, or of a list of such objects."""


def find_printed_item(words: str, history: History, *, is_said: bool = False) -> tuple[int, Json] | None:
    """Find the item whose JSON or `repr` a text is, with the number of its exchange.

    A text that the assistant is said to have written (`is_said`) may also be a message or a list of items; a user may
    quote these on purpose.
    """
    if not _MAY_BE_PRINTED.match(words):
        return None
    if printed := _PRINTED_OBJECT.fullmatch(words):
        original = history.by_id.get(printed["id"]) or next(iter(history.by_call.get(printed["id"], ())), None)
        return (original.number, original.item) if original and (is_said or is_typed(original.item)) else None
    if original := _find_printed_message(words, history, is_said):
        return original.number, original.item
    item = _parse_object(words, is_said)
    if item_type(item) in CALL_OF_OUTPUT:
        return next(iter(history.call_outputs.get(answered_id(item), {}).values()), None)
    original = (history.find_original(item) or _find_without_id(item, history)) if is_typed(item) else None
    return (original.number, original.item) if original else None


def _find_without_id(item: Json, history: History) -> OutputItem | None:
    """Find the output item with all members of an item that has no id."""
    members = {name: value for name, value in item.items() if name != "status"}
    if not members.keys() - {"type"}:
        return None
    return next((output for output in history.by_id.values() if members.items() <= output.item.items()), None)


def _find_printed_message(words: str, history: History, is_said: bool) -> OutputItem | None:
    """Find the message whose parts a text contains as JSON or `repr`; with `is_said`, the message itself."""
    parts = _parse_objects(words)
    if is_said and len(parts) == 1 and isinstance(parts[0], dict) and is_assistant(parts[0]):
        said = history.find_said(parts[0])
        return said.originals[0] if said else None
    if not parts or any(not isinstance(part, dict) or item_type(part) not in ("output_text", "text") for part in parts):
        return None
    said = history.by_text.get(message_text({"content": parts}).strip())
    return said.originals[0] if said else None


def _parse_object(words: str, is_said: bool) -> Json:
    """Parse the single object in a text, or the first with `is_said`; empty for other texts."""
    found = list(objects_in(_parse_objects(words)))
    return found[0] if len(found) == 1 or (found and is_said) else {}


def _parse_objects(words: str) -> list[Any]:
    """Parse the objects in a text that is the JSON or `repr` of a list or of one object; empty for other texts."""
    if words[:1] not in ("{", "[") or not ("type" in words or "role" in words) or len(words) > LONGEST_PARSED_TEXT:
        return []
    value = parse_literal(words)
    return value if isinstance(value, list) else [value]


def parse_literal(words: str) -> Any:
    """Parse a text as JSON or as a Python literal; None if it is neither."""
    for read in (orjson.loads, literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError), catch_warnings():
            simplefilter("ignore")  # `literal_eval` warns of invalid escapes
            return read(words)
    return None
