"""Which items are the same: by their JSON, computed once for each object."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson


class Identities:
    """The identities of values; a value must not change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}

    def of(self, value: Any) -> bytes:
        """Return the identity of a value: equal for equal JSON."""
        if known := self._known.get(id(value)):
            return known[1]
        identity = blake2b(_encode(value), digest_size=16).digest()
        self._known[id(value)] = (value, identity)
        return identity


def _encode(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=str)
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value).encode("utf-8", "surrogatepass")
