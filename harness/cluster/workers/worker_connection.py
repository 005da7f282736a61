"""The connections of a worker: each arrives with the client's first bytes, and leaves when the key changes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from harness.cluster.workers.request_key import HeadReader
from harness.fast_path.posts_at_once import LateAnswer, ReadyAnswer
from harness.server.transport.connection import ConnectionState, HttpConnection
from harness.server.transport.request_parser import BadRequest, RequestHead

IsOwn = Callable[[bytes, Mapping[bytes, bytes]], bool]
"""Returns whether the request with this URL and these headers belongs to the worker."""
GiveBack = Callable[[int, bytes], None]
"""Takes the descriptor of a connection whose next request begins with these bytes."""
PIPELINED = (
    "Requests of several keys were sent over one connection before the answers came: harness serve --workers cannot."
)
DRAIN_SECONDS = 0.005
"""Seconds between two checks whether earlier answers have been sent."""
MOST_EARLY = 1 << 20
"""Bytes that are buffered until earlier answers have been sent; beyond them reading is paused."""


class WorkerConnection(HttpConnection):
    """A connection of a worker. A request is parsed only once its head shows that it belongs here.

    idle ──bytes──> head collected ──whole──> its own? ──yes──> parsed as usual; later bytes wait for the answer
                                                 └──no──> leaving ──earlier answers are sent──> given back with the
                                                                                                connection
    """

    def __init__(self, *arguments: Any, first: bytes, is_own: IsOwn, give_back: GiveBack, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._first = first
        self._is_own = is_own
        self._give_back = give_back
        self._head = HeadReader()
        self._collected = b""
        self._behind = bytearray()
        self._is_judged = False
        self._is_leaving = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with the bytes that arrived along with the connection."""
        super().connection_made(transport)
        first, self._first = self._first, b""
        if first:
            self.data_received(first)

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the client; a request that belongs to another worker leaves with its connection."""
        if self._is_leaving or (self.exchanges and self.state is ConnectionState.BETWEEN):
            self._behind += data
            # What follows a request that leaves must leave with it, so it is buffered, but not without limit.
            if len(self._behind) > MOST_EARLY:
                self.flow.pause_reading()
        elif self._collected or self.is_idle:
            self._collected += data
            self._head.feed(data)
            if self._head.is_whole:
                self._judge()
            else:
                self.begin_request()
        else:
            super().data_received(data)

    def _judge(self) -> None:
        """Start a request whose head is complete, or give it back with its connection."""
        head, data = self._head, self._collected
        self._head, self._collected = HeadReader(), b""
        self._is_judged = not head.url or self._is_own(head.url, head.headers)
        if self._is_judged:
            super().data_received(data)
        else:
            self._is_leaving, self._behind = True, bytearray(data)
            self._leave()

    def _leave(self) -> None:
        """Give the connection back, once its answers are sent: another worker must not write into the middle of one."""
        if self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size():
            self.loop.call_later(DRAIN_SECONDS, self._leave)
            return
        self._give_back(os.dup(self.transport.get_extra_info("socket").fileno()), bytes(self._behind))
        self.transport.close()

    @property
    def may_answer_at_once(self) -> bool:
        """Whether the next request is known to belong here and may be answered without a task."""
        return self._is_judged and super().may_answer_at_once

    def send_at_once(self, answer: ReadyAnswer | LateAnswer) -> None:
        """Send the answer to a request that bypassed the parser."""
        self._is_judged = False
        super().send_at_once(answer)

    def begin_body(self, head: RequestHead) -> None:
        """Start answering a request; refuse a request for another worker pipelined behind one for this worker."""
        if not self._is_judged and not self._is_own(head.url, dict(head.headers)):
            raise BadRequest(PIPELINED)
        self._is_judged = False
        super().begin_body(head)

    def on_answered(self) -> None:
        """Finish an answer, and continue with what arrived meanwhile."""
        super().on_answered()
        if self._behind and not self.exchanges and not self.transport.is_closing():
            behind, self._behind = bytes(self._behind), bytearray()
            self.data_received(behind)
