"""A connection of a worker leaves with the first request of another worker's key."""

from __future__ import annotations

import asyncio
import os
import socket
from types import SimpleNamespace
from typing import Any

from harness.cluster.workers.worker_connection import WorkerConnection

REQUEST = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-other\r\nContent-Length: 2\r\n\r\n{}"


class Wire(asyncio.Transport):
    """A transport with bytes of an answer that are not out yet."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__({"socket": end})
        self.unsent = 100
        self.is_closed = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


async def leave(unsent: int) -> list[bytes]:
    """What is given back of a connection while so many bytes of its last answer are not out, and then after them."""
    given: list[bytes] = []

    def give_back(connection: int, data: bytes) -> None:
        os.close(connection)
        given.append(data)

    state = SimpleNamespace(connections=set(), tasks=set(), default_headers=[], total_requests=0)
    options: dict[str, Any] = {"config": SimpleNamespace(timeout_keep_alive=5), "server_state": state, "app_state": {}}
    connection = WorkerConnection(first=b"", is_own=lambda url, headers: False, give_back=give_back, **options)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours)
        wire.unsent = unsent
        connection.connection_made(wire)
        connection.data_received(REQUEST)
        connection.data_received(b"more" if unsent else b"")
        await asyncio.sleep(0.05)
        before = list(given)
        wire.unsent = 0
        await asyncio.sleep(0.05)
    assert wire.is_closed
    return [b"".join(before), b"".join(given)]


def test_it_leaves_at_once_if_all_answers_are_out() -> None:
    assert asyncio.run(leave(0)) == [REQUEST, REQUEST]


def test_it_leaves_with_all_that_came_once_the_answer_before_is_out() -> None:
    assert asyncio.run(leave(100)) == [b"", REQUEST + b"more"]
