"""Indents JSON for readers of a cassette, and restores the exact bytes from the name of the style in which it was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

JSON_STYLES: dict[str, Mapping[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
    "indented ascii": {"indent": 2},
}
"""How clients and servers write JSON, by the names in a cassette: options of `json.dumps`."""
_INDENTED: Mapping[str, Any] = {"indent": 2, "ensure_ascii": False}


def indent_json(text: str) -> tuple[str, str]:
    """JSON indented, and its original style; any text that cannot be restored so is unchanged and has none."""
    if text[:1] not in ("{", "["):
        return text, ""
    try:
        value = json.loads(text)
        style = next((name for name, options in JSON_STYLES.items() if json.dumps(value, **options) == text), "")
        indented = json.dumps(value, **_INDENTED)
        indented.encode()  # raises for half a pair of surrogates, which only JSON's escape can express
        return (indented, style) if style else (text, "")
    except (ValueError, RecursionError):
        return text, ""


def restore_json(text: str, style: Any) -> str:
    """JSON in a style, even if it was edited since; other text and unknown styles are unchanged."""
    if style not in JSON_STYLES:
        return text
    try:
        return json.dumps(json.loads(text), **JSON_STYLES[style])
    except (ValueError, RecursionError):
        return text
