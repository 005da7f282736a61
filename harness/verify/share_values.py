"""Lets the exchanges of a journal share equal values: histories, tools and settings that a client sends again and again."""

from collections import Counter
from hashlib import blake2b
from typing import Any

import orjson

from harness.core.exchange import Json
from harness.core.json_values import as_object, objects_in
from harness.items.transcript import conversation_id

_LISTS = ("input", "tools", "output")
"""The members of a body that are lists of objects."""


class SharedValues:
    """Replaces the values in bodies that equal earlier ones by these, so that each is in memory, and read, only once.

    No body has the same object twice, since the items of a request are distinguished by identity.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], Any] = {}
        self._texts: dict[str, str] = {}

    def share(self, body: Any, events: list[Json] | None = None) -> None:
        """Replace values in a body, and in the responses that the events of a stream carry."""
        for shared in (body, *(as_object(event.get("response")) for event in objects_in(events or []))):
            if isinstance(shared, dict):
                self._share_members(shared)

    def _share_members(self, body: Json) -> None:
        used: Counter[bytes] = Counter()
        is_chained = body.get("previous_response_id") or conversation_id(body)
        for name, value in body.items():
            if isinstance(value, str):
                body[name] = self._texts.setdefault(value, value)
            elif isinstance(value, dict):
                body[name] = self._find(value, used)
            # What a request continues may have the same items as the request itself.
            elif isinstance(value, list) and name in _LISTS and not (name == "input" and is_chained):
                value[:] = [self._find(element, used) for element in value]

    def _find(self, value: Any, used: Counter[bytes]) -> Any:
        """Return the earlier value that equals this one, and is not used yet in the same body."""
        try:
            digest = blake2b(orjson.dumps(value), digest_size=16).digest()
        except (orjson.JSONEncodeError, RecursionError):
            return value
        used[digest] += 1
        return self._known.setdefault((digest, used[digest]), value)
