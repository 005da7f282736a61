"""The API key of a request, which names its World."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any

from harness.api.http.dialects import FOUNDRY, OPENAI
from harness.api.project.blobs import signing_key
from harness.core.exchange import EMPTY_MAPPING

KEY_PREFIX = "sk-"


def opens_world(key: str, dialect: str, keys: Container[str] | None) -> bool:
    """Tell whether a key leads to a World of its own; `keys` are the only ones that do, None all of the right form."""
    own = dialect != OPENAI or (key.startswith(KEY_PREFIX) and key != KEY_PREFIX)
    return own if keys is None else key in keys


def key_of(headers: Mapping[str, str], dialect: str, query: Mapping[str, Any] = EMPTY_MAPPING) -> str | None:
    """Read the key of a request in a dialect: in those of Azure also `api-key`, in Foundry also the signed address."""
    if dialect == OPENAI:
        return bearer_key(headers)
    key = headers.get("api-key") or bearer_key(headers)
    return signing_key(query) if key is None and query and dialect == FOUNDRY else key


def bearer_key(headers: Mapping[str, str]) -> str | None:
    """Read the API key of a request, None when there is no bearer authentication."""
    return _read_bearer(headers.get("authorization", ""))


@lru_cache(maxsize=256)
def _read_bearer(authorization: str) -> str | None:
    scheme, _, key = authorization.partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
