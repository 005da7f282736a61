"""One write for the head and the body of an answer, after all requests that have come were read.

Written apart they cost a system call more, and wake the client twice. Of answers that are written one after
another only the first wakes a client that waits for several.
"""

from __future__ import annotations

import asyncio
from typing import Any

FLUSH_SIZE = 64 * 1024
"""Bytes beyond which what has gathered is written at once, so that a slow reader is felt."""


class JoinedWrites:
    """A transport whose writes of one turn of the event loop go out together; all else is the transport's own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Keep the bytes until the event loop's next turn, or until enough have gathered."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > FLUSH_SIZE:
            self._flush()

    def get_write_buffer_size(self) -> int:
        """Count the bytes that are not out yet."""
        return self._size + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Return whether the transport is closed or about to be."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Write what has gathered, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():  # the client may have gone since they were written
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
