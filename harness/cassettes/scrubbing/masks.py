"""Masks for secrets, rows of `x` of the same length, and pseudonyms for ids, the same each time for the same id."""

from __future__ import annotations

import re
from hashlib import shake_256

_VISIBLE_PREFIX = re.compile(
    r"Bearer\s+|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|github_pat_|[A-Za-z]{2,5}[-_]|AKIA|ASIA|AIza|eyJ"
)
"""The prefix of a key that is kept, to show its kind."""
_IN_PEM = re.compile(r"(\\+[nrt])|[^\s*]")
"""An escaped line break within a key in PEM, which is kept, or one character of the key."""


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


_ALPHABETS = (
    "0123456789",
    "0123456789abcdef",
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
)


def pseudonym(id: str) -> str:
    """Return the pseudonym of an id, with its prefix, length and alphabet; the pseudonym of a pseudonym is itself."""
    if id.count("-") == 4:
        hexes = pseudonym(id.replace("-", ""))
        return re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", hexes)
    start = max(id.rfind("_"), id.rfind("-")) + 1
    prefix, body = id[:start], id[start:]
    if is_pseudonym(id):
        return id
    alphabet = next((letters for letters in _ALPHABETS if set(body) <= set(letters)), _ALPHABETS[-1])
    return _append_checksum(
        prefix, _draw_characters(prefix + body, len(body) - _checksum_length(body), alphabet), len(body), alphabet
    )


def is_pseudonym(id: str) -> bool:
    """Return whether an id was made by `pseudonym`: its last characters are a checksum of the others."""
    bare = id.replace("-", "") if id.count("-") == 4 else id
    start = max(bare.rfind("_"), bare.rfind("-")) + 1
    prefix, body = bare[:start], bare[start:]
    head = body[: len(body) - _checksum_length(body)]
    return any(
        body == _append_checksum(prefix, head, len(body), alphabet)[start:]
        for alphabet in _ALPHABETS
        if set(body) <= set(alphabet)
    )


def _checksum_length(body: str) -> int:
    return min(6, len(body) // 2)


def _append_checksum(prefix: str, head: str, length: int, alphabet: str) -> str:
    return prefix + head + _draw_characters(f"{prefix}{head}=", length - len(head), alphabet)


def _draw_characters(seed: str, length: int, alphabet: str) -> str:
    return "".join(alphabet[byte % len(alphabet)] for byte in shake_256(seed.encode()).digest(length))
