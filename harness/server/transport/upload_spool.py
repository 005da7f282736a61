"""Large forms, parsed as they arrive: neither the form nor a large file in it is ever in memory as a whole.

The parser and the disk work in a thread, while other clients are answered.
"""

from __future__ import annotations

import asyncio
import tempfile
from threading import Lock
from typing import IO
from weakref import finalize

from harness.api.http.multipart import FormParser
from harness.core.exchange import Form
from harness.core.file_content import OnDisk
from harness.server.transport.asgi_types import Receive

LARGE_FORM = 1 << 20
"""Bytes of a form from which on it is parsed as it arrives."""
MAX_IN_MEMORY = 4 << 20
"""Bytes of a field or file that is kept in memory; a larger one is a temporary file without a name."""
BATCH_SIZE = 1 << 20
"""Bytes that are handed to the thread at once."""


class SpooledContent:
    """The content of a part of a form, in memory up to MAX_IN_MEMORY bytes; its file ends with the last reference to it."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._file: IO[bytes] | None = None
        self._size = 0
        self._reading = Lock()

    def write(self, data: memoryview) -> None:
        """Append bytes; OSError if the disk is full."""
        self._size += len(data)
        if self._file is None and self._size > MAX_IN_MEMORY:
            self._file = tempfile.TemporaryFile(prefix="harness-upload-")  # noqa: SIM115 (lives as long as this)
            finalize(self, self._file.close)
            self._file.write(self._head)
            self._head = bytearray()
        if self._file is None:
            self._head += data
        else:
            self._file.write(data)

    def decode(self, encoding: str, errors: str = "strict") -> str:
        """Decode the content as text; one that is on disk tells its size."""
        return str(self.on_disk or str(self._head, encoding, errors))

    @property
    def on_disk(self) -> OnDisk | None:
        """The content if it is not in memory."""
        return OnDisk(self._size, self._read) if self._file else None

    def _read(self, start: int, length: int) -> bytes:
        assert self._file is not None  # what is in memory is read as text
        with self._reading:
            self._file.seek(start)
            return self._file.read(length)


async def read_form(receive: Receive, content_type: str, most: int) -> tuple[bytes, Form | None] | None:
    """Read a small form as bytes and None, a larger one as no bytes and the form; None when the client leaves.

    Of a larger one that is not whole there are neither.

    What follows after `most` bytes is not read. OSError when the disk takes no more.
    """
    parser, batch, size, more = None, bytearray(), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        batch += message.get("body", b"")
        size += len(message.get("body", b""))
        more = message.get("more_body", False) and size <= most
        # In batches, as each goes to another thread: the disk must not hold up all other connections.
        if size > LARGE_FORM and (len(batch) >= BATCH_SIZE or not more):
            data, batch = bytes(batch), bytearray()
            parser = parser or FormParser(content_type, data, SpooledContent)
            await asyncio.to_thread(parser.write, data)
    if parser is None:
        return bytes(batch), None
    return b"", await asyncio.to_thread(parser.read) if parser.is_whole else None
