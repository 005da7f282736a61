"""Values as reports hold them: plain JSON of bounded size, which every reader of JSON takes, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.redact import redact

LONGEST = 4000
"""Characters of a text in a report."""
MOST = 500
"""Members of a list in a report, events of a stream among them."""
DEEPEST = 40
"""Levels of a value in a report."""
LARGEST = 1 << 53
"""A number from here on is written as a text: not every reader of JSON knows it."""


def safe(value: Any, secrets: frozenset[str] = frozenset(), depth: int = DEEPEST) -> Any:
    """A value as it may be written: plain JSON of bounded size, without secrets."""
    if isinstance(value, str):
        return _text(value, secrets)
    if value is None or isinstance(value, bool | int | float):
        return value if isinstance(value, bool | None) or abs(value) < LARGEST else str(value)
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {_text(str(name), secrets): safe(own, secrets, depth - 1) for name, own in value.items()}
    if isinstance(value, list | tuple):
        left = [f"… {len(value) - MOST} more"] if len(value) > MOST else []
        return [*(safe(own, secrets, depth - 1) for own in value[:MOST]), *left]
    return _text(value.decode("latin-1") if isinstance(value, bytes) else str(value), secrets)


def _text(text: str, secrets: frozenset[str]) -> str:
    """A text by its beginning, with nothing that UTF-8 cannot say."""
    whole: str = redact(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode(), secrets)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}… {len(whole) - LONGEST} more characters"
