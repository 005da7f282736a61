"""The ids of one World, in the API's forms but without clock or randomness.

The id of a response or an item is a prefix and 50 hex digits: 16 for the partition, 2 for the response's turn, 8 for
the unix seconds, 24 of its own. The items of a response share its first 18 digits; a response that continues another
one shares the first 16 with it. Recorded from mid 2025 on.
"""

import re
from hashlib import shake_128

_PARTITIONED_ID = re.compile(r"[a-z]+_([0-9a-f]{16})([0-9a-f]{2})[0-9a-f]{32}")
_PROJECT_ID = re.compile(r"[a-z]+_([0-9a-f]{16})00[0-9A-Za-z]{32}")
"""The form of an id that a Foundry project makes itself, in the same partition as its models' ids."""
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALPHANUMERIC_TABLE = bytes(ord(_BASE62[byte % 62]) for byte in range(256))
"""A table for `bytes.translate` that maps every byte to one of A-Z a-z 0-9."""
_CHUNK = 24
"""The hex digits of an id's own part."""
_CHUNKS = 32
"""The number of chunks per hash."""


def is_project_id(id: str) -> bool:
    """Return whether an id has the form of those that a Foundry project makes."""
    return _PROJECT_ID.fullmatch(id) is not None


class Ids:
    """Generates the ids of a World; the same seed and the same calls produce the same ids."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self._hash = shake_128(b"harness ids " + seed.encode("utf-8", "surrogatepass"))
        self._round = 0
        self._digits = ""
        self._left = 0
        self._item_partition = ("", "")

    def _next_chunk(self) -> str:
        end = self._left
        if not end:  # a hash is expensive to start but cheap to extend, so one serves many ids
            hashed = self._hash.copy()
            hashed.update(b"\0%d" % self._round)
            self._digits = hashed.hexdigest(_CHUNK * _CHUNKS // 2)
            self._round += 1
            end = len(self._digits)
        self._left = start = end - _CHUNK
        return self._digits[start:end]

    def hex(self, prefix: str, digits: int) -> str:
        """Return `prefix` and an even number of hex digits: `hex("vs_", 32)`."""
        made = prefix + self._next_chunk()
        while len(made) < len(prefix) + digits:
            made += self._next_chunk()
        return made[: len(prefix) + digits]

    def alphanumeric(self, prefix: str, length: int = 24) -> str:
        """Return `prefix` and `length` characters of A-Z a-z 0-9: `alphanumeric("file-")`."""
        return prefix + bytes.fromhex(self.hex("", 2 * length)).translate(ALPHANUMERIC_TABLE).decode()

    def response(self, now: int, parent: str | None = None, prefix: str = "resp") -> str:
        """Make a response's id at `now` unix seconds, in the partition of `parent`.

        `parent` is the id of the previous response or of the conversation. One of another form (48 digits as before mid
        2025, or invented) starts a new partition. With another prefix the id has the form that a Foundry project makes.
        """
        if prefix != "resp":
            return self.project_id(f"{prefix}_", parent)
        found = (_PARTITIONED_ID.fullmatch(parent) or _PROJECT_ID.fullmatch(parent)) if parent else None
        partition = f"{found[1] if found else self._next_chunk()[:16]}00"
        id = f"resp_{partition}{now:08x}{self._next_chunk()}"
        self._item_partition = id, partition
        return id

    def item(self, prefix: str, response_id: str, now: int) -> str:
        """Make the id of an item of a response or a conversation: `item("msg", "resp_…", now)`.

        A `response_id` of another form starts a new partition for the item; that of a Foundry project produces a
        project id.
        """
        owner, partition = self._item_partition
        if owner != response_id:
            found = _PARTITIONED_ID.fullmatch(response_id)
            if found is None and _PROJECT_ID.fullmatch(response_id):
                return self.project_id(f"{prefix}_", response_id)
            partition = found[1] + found[2] if found else f"{self._next_chunk()[:16]}00"
            self._item_partition = response_id, partition
        return f"{prefix}_{partition}{now:08x}{self._next_chunk()}"

    def call(self) -> str:
        """Make the `call_id` that pairs a call with its output."""
        return self.alphanumeric("call_")

    def request(self) -> str:
        """Make an `x-request-id`."""
        return f"req_{self._next_chunk()}{self._next_chunk()[:8]}"

    def guid(self) -> str:
        """Make a request id in Azure's form."""
        text = self.hex("", 32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def conversation(self) -> str:
        """Make a conversation's id."""
        return self.hex("conv_", 48)

    def project_conversation(self) -> str:
        """Make the id of a conversation in a Foundry project."""
        return self.project_id("conv_")

    def project_id(self, prefix: str = "", parent: str | None = None) -> str:
        """Make an id as a Foundry project does, in the partition of `parent`; session ids have no prefix."""
        found = (_PARTITIONED_ID.fullmatch(parent) or _PROJECT_ID.fullmatch(parent)) if parent else None
        return self.alphanumeric(f"{prefix}{found[1]}00" if found else f"{self.hex(prefix, 16)}00", 32)

    def message(self) -> str:
        """Make the id of a message in a thread; for a message of a response use `item`."""
        return self.alphanumeric("msg_")
