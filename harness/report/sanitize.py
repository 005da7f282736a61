"""Values as reports hold them: plain JSON of bounded size, which every reader of JSON takes, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.redact import redact

MAX_TEXT_LENGTH = 4000
"""Characters of a text in a report."""
MAX_LIST_LENGTH = 500
"""Members of a list in a report, events of a stream among them."""
MAX_DEPTH = 40
"""Levels of a value in a report."""
MAX_SAFE_NUMBER = 1 << 53
"""A number from here on is written as a text: not every reader of JSON knows it."""


def sanitize_value(value: Any, secrets: frozenset[str] = frozenset(), depth: int = MAX_DEPTH) -> Any:
    """A value as it may be written: plain JSON of bounded size, without secrets."""
    if isinstance(value, str):
        return _sanitize_text(value, secrets)
    if value is None or isinstance(value, bool | int | float):
        return value if isinstance(value, bool | None) or abs(value) < MAX_SAFE_NUMBER else str(value)
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {
            _sanitize_text(str(name), secrets): sanitize_value(own, secrets, depth - 1) for name, own in value.items()
        }
    if isinstance(value, list | tuple):
        left = [f"… {len(value) - MAX_LIST_LENGTH} more"] if len(value) > MAX_LIST_LENGTH else []
        return [*(sanitize_value(own, secrets, depth - 1) for own in value[:MAX_LIST_LENGTH]), *left]
    return _sanitize_text(value.decode("latin-1") if isinstance(value, bytes) else str(value), secrets)


def _sanitize_text(text: str, secrets: frozenset[str]) -> str:
    """A text by its beginning, with nothing that UTF-8 cannot say."""
    whole: str = redact(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode(), secrets)
    return (
        whole
        if len(whole) <= MAX_TEXT_LENGTH
        else f"{whole[:MAX_TEXT_LENGTH]}… {len(whole) - MAX_TEXT_LENGTH} more characters"
    )
