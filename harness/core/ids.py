"""The ids of one World: the API's shapes, without clock or randomness.

An id of a response or an item is a prefix and 50 hex digits: 16 of the partition, 2 of the response's turn, 8 of the
unix seconds, 24 of its own. Everything a response makes shares its first 18; a response that continues another keeps
the other's 16. Recorded from mid 2025 on.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_MODERN = re.compile(r"[a-z]+_([0-9a-f]{16})([0-9a-f]{2})[0-9a-f]{32}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALPHANUMERIC = bytes(ord(_BASE62[byte % 62]) for byte in range(256))
"""A table for `bytes.translate`: every byte becomes one of A-Z a-z 0-9."""


class Ids:
    """Makes the ids of a World: the same seed and the same calls give the same ids, other seeds give others."""

    def __init__(self, seed: str) -> None:
        self._hash = blake2b(seed.encode("utf-8", "surrogatepass"), person=b"harness ids")
        self._block = 0
        self._bytes = b""
        self._below = ("", "")

    def _take(self, count: int) -> bytes:
        left = self._bytes
        while len(left) < count:
            block = self._hash.copy()
            block.update(b"\0%d" % self._block)
            self._block += 1
            left += block.digest()
        self._bytes = left[count:]
        return left[:count]

    def hex(self, prefix: str, digits: int) -> str:
        """`prefix` and that many hex digits (an even number): `hex("vs_", 32)`."""
        return prefix + self._take(digits // 2).hex()

    def alphanumeric(self, prefix: str, length: int = 24) -> str:
        """`prefix` and that many of A-Z a-z 0-9: `alphanumeric("file-")`."""
        return prefix + self._take(length).translate(ALPHANUMERIC).decode()

    def response(self, now: int, parent: str | None = None) -> str:
        """A response's id at `now` unix seconds; with the id of what it continues it stays in that partition.

        A parent that is no id of this shape (an old 48-digit one, a made-up one) starts a new partition.
        """
        found = _MODERN.fullmatch(parent) if parent else None
        partition = found[1] if found else self._take(8).hex()
        return f"resp_{partition}00{now:08x}{self._take(12).hex()}"

    def item(self, prefix: str, response_id: str, now: int) -> str:
        """The id of an item of a response: `item("msg", "resp_…", now)`.

        Below a response id that is not of this shape items start a partition of their own.
        """
        if self._below[0] != response_id:
            found = _MODERN.fullmatch(response_id)
            self._below = response_id, found[1] + found[2] if found else f"{self._take(8).hex()}00"
        return f"{prefix}_{self._below[1]}{now:08x}{self._take(12).hex()}"

    def call(self) -> str:
        """A `call_id`: what pairs a call with its output."""
        return self.alphanumeric("call_")

    def request(self) -> str:
        """An `x-request-id`."""
        return "req_" + self._take(16).hex()

    def guid(self) -> str:
        """A request's id as Azure writes it."""
        text = self.hex("", 32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def conversation(self) -> str:
        """A conversation's id."""
        return self.hex("conv_", 48)

    def project_conversation(self) -> str:
        """The id of a conversation of a Foundry project."""
        return self.alphanumeric(f"{self.hex('conv_', 16)}00", 32)

    def message(self) -> str:
        """The id of a message of a thread; a message of a response is an `item`."""
        return self.alphanumeric("msg_")
