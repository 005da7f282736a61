"""The masks of secrets: rows of `x` of the same length."""

from __future__ import annotations

import re

_VISIBLE_PREFIX = re.compile(
    r"Bearer\s+|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|github_pat_|[A-Za-z]{2,5}[-_]|AKIA|ASIA|AIza|eyJ"
)
"""The prefix of a key that stays, to show its kind."""
_IN_PEM = re.compile(r"(\\+[nrt])|[^\s*]")
"""An escaped line break within a key in PEM, which stays, or a character of it."""


def mask(text: str, visible: int = 0) -> str:
    """Mask a secret as a row of `x` of its length, except for its first `visible` characters."""
    return text[:visible] + re.sub(r"[^\s*]", "x", text[visible:])


def mask_key(key: str) -> str:
    """Mask a key as a row of `x`, except for the prefix that shows its kind."""
    start = _VISIBLE_PREFIX.match(key)
    visible = start.end() if start else 0
    if "PRIVATE KEY" not in key[:visible]:
        return mask(key, visible)
    return key[:visible] + _IN_PEM.sub(lambda part: part[1] or "x", key[visible:])
