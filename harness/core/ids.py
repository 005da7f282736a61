"""The ids of one World: the API's shapes, without clock or randomness.

An id of a response or an item is a prefix and 50 hex digits: 16 for the partition, 2 for the response's turn, 8 for the
unix seconds, 24 of its own. The items of a response share its first 18 digits; a response that continues another shares
the first 16 with it. Recorded from mid 2025 on.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_PARTITIONED_ID = re.compile(r"[a-z]+_([0-9a-f]{16})([0-9a-f]{2})[0-9a-f]{32}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALPHANUMERIC_TABLE = bytes(ord(_BASE62[byte % 62]) for byte in range(256))
"""A table for `bytes.translate` that maps every byte to one of A-Z a-z 0-9."""
_BLOCKS = 4
"""Hashes that are made at once, enough for the longest part of an id."""


class Ids:
    """Generates the ids of a World: the same seed and the same calls give the same ids."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self._hash = blake2b(seed.encode("utf-8", "surrogatepass"), person=b"harness ids")
        self._block_number = 0
        self._bytes, self._digits, self._used = b"", "", 0
        self._item_partition = ("", "")

    def _next_bytes(self, count: int) -> bytes:
        start = self._take(count)
        return self._bytes[start : self._used]

    def _next_hex(self, count: int) -> str:
        """The next `count` bytes as twice as many hex digits."""
        start = self._used
        self._used = end = start + count
        if end > len(self._bytes):
            self._used = start
            start, end = self._take(count), self._used
        return self._digits[2 * start : 2 * end]

    def _take(self, count: int) -> int:
        """Use up bytes; returns where they begin."""
        start, self._used = self._used, self._used + count
        if self._used <= len(self._bytes):
            return start
        blocks = [self._bytes[start:], *map(self._digest, range(self._block_number, self._block_number + _BLOCKS))]
        self._block_number += _BLOCKS
        self._bytes, self._used = b"".join(blocks), count
        self._digits = self._bytes.hex()
        return 0

    def _digest(self, number: int) -> bytes:
        block = self._hash.copy()
        block.update(b"\0%d" % number)
        return block.digest()

    def hex(self, prefix: str, digits: int) -> str:
        """`prefix` and that many hex digits (an even number): `hex("vs_", 32)`."""
        return prefix + self._next_hex(digits // 2)

    def alphanumeric(self, prefix: str, length: int = 24) -> str:
        """`prefix` and that many of A-Z a-z 0-9: `alphanumeric("file-")`."""
        return prefix + self._next_bytes(length).translate(ALPHANUMERIC_TABLE).decode()

    def response(self, now: int, parent: str | None = None) -> str:
        """A response's id at `now` unix seconds, in the partition of its `parent`, the response that it continues.

        A parent of another form (48 digits as before mid 2025, or invented) starts a new partition.
        """
        found = _PARTITIONED_ID.fullmatch(parent) if parent else None
        partition = found[1] if found else self._next_hex(8)
        return f"resp_{partition}00{now:08x}{self._next_hex(12)}"

    def item(self, prefix: str, response_id: str, now: int) -> str:
        """The id of an item of a response: `item("msg", "resp_…", now)`.

        A response id of another form starts a new partition for the item.
        """
        if self._item_partition[0] != response_id:
            found = _PARTITIONED_ID.fullmatch(response_id)
            self._item_partition = response_id, found[1] + found[2] if found else f"{self._next_hex(8)}00"
        return f"{prefix}_{self._item_partition[1]}{now:08x}{self._next_hex(12)}"

    def call(self) -> str:
        """A `call_id`, which pairs a call with its output."""
        return self.alphanumeric("call_")

    def request(self) -> str:
        """An `x-request-id`."""
        return "req_" + self._next_hex(16)

    def guid(self) -> str:
        """A request id in Azure's form."""
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
