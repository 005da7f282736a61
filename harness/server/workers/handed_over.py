"""The connections of a worker: each comes with the bytes that its client sent first, and goes when the key changes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from harness.server.transport.direct_protocol import DirectHttpProtocol
from harness.server.transport.http_protocol import BadRequest
from harness.server.workers.request_key import HeadReader

IsOwn = Callable[[bytes, Mapping[bytes, bytes]], bool]
"""Whether the request with this address and these headers belongs to the worker."""
GiveBack = Callable[[int, bytes], None]
"""Takes the descriptor of a connection whose next request begins with these bytes."""
PIPELINED = (
    "Requests of several keys were sent over one connection before the answers came: harness serve --workers cannot."
)
MOST_EARLY = 1 << 20
"""Bytes behind a request that are kept until it is answered; then no more are read."""


class HandedOverProtocol(DirectHttpProtocol):
    """The HTTP protocol of a worker."""

    def __init__(self, *, first: bytes, is_own: IsOwn, give_back: GiveBack, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._first = first
        self._is_own = is_own
        self._give_back = give_back
        self._head = HeadReader()
        self._parts: list[bytes] = []
        self._behind = bytearray()
        self._is_judged = False
        self._is_foreign = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with what came before."""
        super().connection_made(transport)
        first, self._first = self._first, b""
        if first:
            self.data_received(first)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; a request that belongs to another worker leaves with its connection."""
        if self.request_begun is None and self.is_waiting and self._early is None:
            self._behind += data
            if len(self._behind) > MOST_EARLY:
                self.flow.pause_reading()
            return
        if self.is_waiting or not (self.request_begun is None or not self.received):
            super().data_received(data)
            return
        if self.request_begun is None:
            self._expect_request()
        self._parts.append(data)
        self._head.feed(data)
        if self._head.is_whole:
            self._judge()

    def _judge(self) -> None:
        """Begin with a request whose head is whole, or give it back with its connection."""
        head, data = self._head, b"".join(self._parts)
        self._head, self._parts = HeadReader(), []
        self._is_judged = not head.url or self._is_own(head.url, head.headers)
        if self._is_judged:
            super().data_received(data)
        else:
            self._give_back(os.dup(self.transport.get_extra_info("socket").fileno()), data)
            self.transport.close()

    def on_response_complete(self) -> None:
        """Go on after an answer with what came meanwhile."""
        super().on_response_complete()
        if self._behind and not self.is_waiting and not self.transport.is_closing():
            behind, self._behind = bytes(self._behind), bytearray()
            self.data_received(behind)

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        if not self._is_judged and not self._is_own(self.url, dict(self.headers)):
            self._is_foreign = True
            raise BadRequest
        self._is_judged = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or not one of this worker."""
        if self._is_foreign:
            self._refuse(400, PIPELINED)
        else:
            super().send_400_response(msg)
