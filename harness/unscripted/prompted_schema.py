"""A JSON Schema that a prompt states in words, as clients do for models without structured output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import takewhile

import jsonschema_rs

from harness.core.exchange import Json
from harness.unscripted.reading import Reading

MAX_SEARCHED = 50_000
"""Characters of a text in which the words for a schema are searched."""
MAX_TRIED = 10
"""How many braces may begin the schema."""
_ASKED = re.compile(r"json\b.{0,200}?\bschema\b[^{]{0,200}", re.IGNORECASE | re.DOTALL)
_DECODER = json.JSONDecoder()


def find_prompted_schema(reading: Reading) -> Json | None:
    """The schema of an object that the instructions ask for; where JSON is wanted, the one that the user states, too."""
    wants_json = reading.text_format.get("type") == "json_object"
    texts = (*_read_instructions(reading), *((reading.user_text,) if wants_json else ()))
    return next((found for text in texts if "schema" in text and (found := _find_schema(text))), None)


def _read_instructions(reading: Reading) -> Iterator[str]:
    instructions = reading.body.get("instructions")
    if isinstance(instructions, str):
        yield instructions
    for item in takewhile(lambda item: item.get("role") in ("system", "developer"), reading.own):
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        yield from (text for part in parts if isinstance(part, dict) and isinstance(text := part.get("text"), str))


def _find_schema(text: str) -> Json | None:
    asked = _ASKED.search(text, 0, MAX_SEARCHED)
    place = text.find("{", asked.end()) if asked else -1
    for _ in range(MAX_TRIED):
        if place < 0:
            break
        try:
            found, _ = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and isinstance(found.get("properties"), dict):
            found.pop("$schema", None)  # a dialect of that name would be looked for on the network
            return found if _is_schema(found) else None
        place = text.find("{", place + 1)
    return None


def _is_schema(found: Json) -> bool:
    try:
        return jsonschema_rs.meta.is_valid(found)
    except (ValueError, RecursionError):  # nested too deep, or a number that JSON does not have
        return False
