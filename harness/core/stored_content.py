"""The content of a large file as plain data can hold it: a text that stands for bytes kept elsewhere."""

from __future__ import annotations

from typing import Protocol


class ReadBytes(Protocol):
    """Reads bytes of a content."""

    def __call__(self, start: int = 0, length: int = -1) -> bytes:
        """At most `length` bytes from `start` on, all of the rest with -1."""


class StoredContent(str):
    """The content of a file outside of memory: `size` bytes, given by `read`; as a text it only says its size.

    A copy is that text.
    """

    __slots__ = ("read", "size")

    size: int
    read: ReadBytes

    def __new__(cls, size: int, read: ReadBytes) -> StoredContent:
        """Make a text such as `(209715200 bytes)`."""
        made = super().__new__(cls, f"({size} bytes)")
        made.size, made.read = size, read
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def content_size(content: str) -> int:
    """Count the bytes of a content: a text with one character per byte, or a StoredContent."""
    return content.size if isinstance(content, StoredContent) else len(content)


def read_content(content: str) -> bytes:
    """Read the bytes of a content: a text with one character per byte (Latin-1), or a StoredContent."""
    return content.read() if isinstance(content, StoredContent) else content.encode("latin-1")
