"""The connections of a worker: each comes with the bytes that its client sent first, and goes when the key changes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from harness.server.transport.direct_protocol import DirectHttpProtocol
from harness.server.transport.http_protocol import BadRequest
from harness.server.workers.request_key import HEAD_END, LARGEST_HEAD

IsOwn = Callable[[bytes], bool]
"""Whether the request with this head belongs to the worker."""
GiveBack = Callable[[int, bytes], None]
"""Takes the descriptor of a connection whose next request begins with these bytes."""
PIPELINED = (
    "Requests of several keys were sent over one connection before the answers came: harness serve --workers cannot."
)


class HandedOverProtocol(DirectHttpProtocol):
    """The HTTP protocol of a worker."""

    def __init__(self, *, first: bytes, is_own: IsOwn, give_back: GiveBack, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._first = first
        self._is_own = is_own
        self._give_back = give_back
        self._head = b""
        self._is_judged = False
        self._is_foreign = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with what came before."""
        super().connection_made(transport)
        first, self._first = self._first, b""
        self._is_judged = True
        super().data_received(first)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; a request that belongs to another worker leaves with its connection."""
        is_begin = self.request_begun is None and not self.is_waiting
        if not (is_begin or self._head):
            super().data_received(data)
            return
        if is_begin:
            self._expect_request()
        head = self._head + data
        if HEAD_END not in head and len(head) < LARGEST_HEAD:
            self._head = head
            return
        self._head = b""
        if self._is_own(head):
            self._is_judged = True
            super().data_received(head)
        else:
            self._give_back(os.dup(self.transport.get_extra_info("socket").fileno()), head)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        if not self._is_judged and not self._is_own(self._rebuilt_head()):
            self._is_foreign = True
            raise BadRequest
        self._is_judged = False
        super().on_headers_complete()

    def _rebuilt_head(self) -> bytes:
        start = b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)
        return b"\r\n".join([start, *(name + b": " + value for name, value in self.headers), b"", b""])

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or not one of this worker."""
        if self._is_foreign:
            self._write_error(400, PIPELINED)
            self.transport.close()
        else:
            super().send_400_response(msg)
