"""The bytes of an uploaded file, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BYTES_AS_TEXT = "latin-1"
"""The encoding that maps each byte to one character."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """File content as a string with one character per byte; shared with the request's body, so it is in memory once."""

    text: str

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.text)

    def read(self) -> bytes:
        """Read all bytes."""
        return self.text.encode(BYTES_AS_TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class OnDisk:
    """File content outside of memory; `read_part(start, length)` reads a part of it."""

    size: int
    read_part: Callable[[int, int], bytes]

    def __str__(self) -> str:
        """Show the size in place of the content."""
        return f"({self.size} bytes)"

    def read(self) -> bytes:
        """Read all bytes."""
        return self.read_part(0, self.size)


FileContent = InMemory | OnDisk
