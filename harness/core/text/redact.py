"""Removes secrets from output: known ones by value, others by form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.core.text.token_forms import TOKEN_PATTERN

SECRET_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "api-key",
        "x-api-key",
        "ocp-apim-subscription-key",
        "cookie",
        "set-cookie",
    }
)
"""Headers whose values are secrets, in lower case."""
HIDDEN = "[hidden]"

_SHORTEST_SECRET = 8
"""The minimum length of a secret; hiding shorter values would hide ordinary words."""


def secrets_in_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the secret values among headers with lower-case names, with and without their scheme."""
    values = (headers[name].strip() for name in headers if name in SECRET_HEADERS)
    words = (word for value in values for word in (value, value.rpartition(" ")[2]))
    return frozenset(word for word in words if len(word) >= _SHORTEST_SECRET)


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Hide secrets in a JSON value: each of `secrets` anywhere in a string, and everything that looks like a key."""
    if isinstance(value, str):
        # Longest first: one secret may be part of another.
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, HIDDEN)
        return TOKEN_PATTERN.sub(HIDDEN, value)
    if isinstance(value, list | tuple):
        return [redact(element, secrets) for element in value]
    if isinstance(value, Mapping):
        return {redact(name, secrets): redact(member, secrets) for name, member in value.items()}
    return value
