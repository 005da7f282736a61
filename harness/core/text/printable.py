"""Escapes control characters, so that no recorded text can control a terminal or reorder what a page shows."""

from __future__ import annotations

import re
from typing import Any

_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Control characters except tab and line feed, bidirectional marks, line separators and unpaired surrogates."""


def escape_controls(text: str) -> str:
    r"""Escape control characters as JSON does (`\u001b`), so that JSON keeps its value."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape_values(value: Any) -> Any:
    """Escape the strings and names of a JSON value for display."""
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {escape_controls(name): escape_values(member) for name, member in value.items()}
    return [escape_values(element) for element in value] if isinstance(value, list) else value
