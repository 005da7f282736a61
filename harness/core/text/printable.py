"""Shows control characters as escapes, so that no text of a recording can steer a terminal or turn what a page shows."""

from __future__ import annotations

import re
from typing import Any

_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Controls but tab and line feed, marks that change the direction of text, line separators, halves of surrogate pairs."""


def escape_controls(text: str) -> str:
    r"""Write the control characters of a text as JSON does (`\u001b`): JSON so remains the same value."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape_values(value: Any) -> Any:
    """Escape the texts and names of a JSON value, for a page that a person reads."""
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {escape_controls(name): escape_values(member) for name, member in value.items()}
    return [escape_values(element) for element in value] if isinstance(value, list) else value
