"""The bytes of an uploaded file, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BYTES_AS_TEXT = "latin-1"
"""The encoding in which bytes are text with one character per byte."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """Bytes as text, a character each: the text in the body of the request, so that a file is in memory once."""

    text: str

    @property
    def size(self) -> int:
        """Count the bytes."""
        return len(self.text)

    def read(self) -> bytes:
        """Read all bytes."""
        return self.text.encode(BYTES_AS_TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class OnDisk:
    """Bytes outside of memory, of which `read_part(start, length)` reads some."""

    size: int
    read_part: Callable[[int, int], bytes]

    def __str__(self) -> str:
        """Show the size in place of the bytes."""
        return f"({self.size} bytes)"

    def read(self) -> bytes:
        """Read all bytes."""
        return self.read_part(0, self.size)


FileContent = InMemory | OnDisk
