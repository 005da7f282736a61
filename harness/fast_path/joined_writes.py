"""Joins the head and the body of an answer into one write, after all received requests have been read.

Separate writes cost one more system call and wake the client twice. When answers are written one after another, only
the first write wakes a client that waits for several.
"""

from __future__ import annotations

import asyncio
from typing import Any

FLUSH_SIZE = 64 * 1024
"""Bytes beyond which gathered data is written at once, so that back-pressure from a slow reader takes effect."""


class JoinedWrites:
    """A transport that joins all writes of one event loop iteration; everything else is delegated."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Buffer the bytes until the next iteration of the event loop, or until enough have gathered."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > FLUSH_SIZE:
            self._flush()

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that have not been sent."""
        return self._size + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Return whether the transport is closed or closing."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Write what has gathered, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():  # the client may have disconnected since they were written
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
