"""Large forms, parsed as they arrive: neither the form nor a large file in it is ever entirely in memory.

The parser and the disk work in a thread, so that other clients are served meanwhile.
"""

import asyncio
import tempfile
from threading import Lock
from typing import IO
from weakref import finalize

from harness.api.http.multipart import FormParser
from harness.core.exchange import Form, OnDisk
from harness.core.limits import MAX_BODY_SIZE
from harness.server.transport.asgi_types import Receive

LARGE_FORM = 1 << 20
"""Size in bytes from which a form is parsed as it arrives."""
MAX_IN_MEMORY = 4 << 20
"""Bytes of a field or file that are kept in memory; anything larger goes into an unnamed temporary file."""
BATCH_SIZE = 1 << 20
"""Bytes that are handed to the thread at once."""


class SpooledContent:
    """The content of a form's part, in memory up to MAX_IN_MEMORY bytes.

    Its file is deleted with the last reference.
    """

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
        """Decode the content as text; content on disk is only described by its size."""
        return str(self.on_disk or str(self._head, encoding, errors))

    @property
    def on_disk(self) -> OnDisk | None:
        """The content on disk; None if it is in memory."""
        return OnDisk(self._size, self._read) if self._file else None

    def _read(self, start: int, length: int) -> bytes:
        assert self._file is not None  # only content on disk is read this way
        with self._reading:
            self._file.seek(start)
            return self._file.read(length)


async def read_form(receive: Receive, content_type: str, most: int) -> tuple[bytes, Form | None] | None:
    """Read a small form as (bytes, None), a larger one as (b"", form); None if the client disconnects.

    The form is None, too, if a larger one is incomplete. Without a `content_type` a body of any size is read as bytes.
    Nothing is read beyond `most` bytes. OSError if the disk is full.
    """
    parser, batch, size, more = None, bytearray(), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        batch += message.get("body", b"")
        size += len(message.get("body", b""))
        more = message.get("more_body", False) and size <= most
        # In batches, as each is written in another thread: the disk must not hold up all other connections.
        if content_type and size > LARGE_FORM and (len(batch) >= BATCH_SIZE or not more):
            data, batch = bytes(batch), bytearray()
            parser = parser or FormParser(content_type, data, SpooledContent)
            await asyncio.to_thread(parser.write, data)
    if parser is None:
        return bytes(batch), None
    return b"", await asyncio.to_thread(parser.read) if parser.is_whole else None


async def read_body(receive: Receive) -> bytes | None:
    """Read a request's body; None if the client disconnects before it has sent the whole body."""
    read = await read_form(receive, "", MAX_BODY_SIZE)
    return read and read[0]
