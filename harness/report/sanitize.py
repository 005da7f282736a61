"""Makes values safe for a report: plain JSON of bounded size, portable, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from harness.core.secrets import redact
from harness.explain.model import ReportFinding

MAX_TEXT_LENGTH = 4000
"""Maximum length of a text in a report, in characters."""
MAX_LIST_LENGTH = 500
"""Maximum length of a list in a report, including the events of a stream."""
MAX_DEPTH = 40
"""Maximum nesting of a value in a report."""
MAX_SAFE_NUMBER = 1 << 53
"""Numbers from here on are written as strings, as many JSON parsers would round them."""


def sanitize_value(value: Any, secrets: frozenset[str] = frozenset(), depth: int = MAX_DEPTH) -> Any:
    """Convert a value to plain JSON of bounded size, without secrets."""
    if isinstance(value, str):
        return _sanitize_text(value, secrets)
    if value is None or isinstance(value, bool | int | float):
        return value if isinstance(value, bool | None) or abs(value) < MAX_SAFE_NUMBER else str(value)
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {
            _sanitize_text(str(name), secrets): sanitize_value(member, secrets, depth - 1)
            for name, member in value.items()
        }
    if isinstance(value, list | tuple):
        omitted = [f"… {len(value) - MAX_LIST_LENGTH} more"] if len(value) > MAX_LIST_LENGTH else []
        return [*(sanitize_value(member, secrets, depth - 1) for member in value[:MAX_LIST_LENGTH]), *omitted]
    return _sanitize_text(value.decode("latin-1") if isinstance(value, bytes) else str(value), secrets)


def sanitize_finding(finding: ReportFinding, secrets: frozenset[str] = frozenset()) -> ReportFinding:
    """Limit the size of a finding's texts and remove secrets from them."""
    return ReportFinding(**sanitize_value(asdict(finding), secrets))


def _sanitize_text(text: str, secrets: frozenset[str]) -> str:
    """Truncate and mask a text, and escape characters that UTF-8 cannot encode."""
    redacted: str = redact(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode(), secrets)
    hidden = len(redacted) - MAX_TEXT_LENGTH
    return redacted if hidden <= 0 else f"{redacted[:MAX_TEXT_LENGTH]}… {hidden} more characters"
