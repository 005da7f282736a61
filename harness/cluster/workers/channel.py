"""Messages between a server's first process and a worker, over a pair of Unix sockets; one may carry a connection.

kind  has a connection  size     bytes
c     1                 !I       the head of its first request     to a worker, or back from it
s     0                 !I       a request without a World         from the first worker, to all others
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from contextlib import suppress
from typing import NamedTuple

_HEAD = struct.Struct("!ccI")
_READ_SIZE = 1 << 20
_MOST_CONNECTIONS = 64
"""How many connections are received at once."""

CONNECTION, STRAY = b"c", b"s"
"""The kinds of messages: a connection with the bytes read from it, a request without a World."""


class Message(NamedTuple):
    """A message: kind, bytes, and an optional connection."""

    kind: bytes
    data: bytes
    connection: socket.socket | None = None


class ChannelClosed(Exception):
    """Raised when the other process has ended."""


class Channel:
    """One end of the pair; it never blocks: what cannot be sent now is kept for `flush`."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unsent: deque[tuple[bytes, int | None]] = deque()
        self._received = b""
        self._connections: deque[int] = deque()

    def fileno(self) -> int:
        """Return the file descriptor, for a selector."""
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        """Whether anything waits for `flush`."""
        return bool(self._unsent)

    def send(self, kind: bytes, data: bytes, connection: int | None = None) -> None:
        """Send a message; the descriptor of a connection is closed here once it has been sent."""
        has_connection = b"0" if connection is None else b"1"
        self._unsent.append((_HEAD.pack(kind, has_connection, len(data)) + data, connection))
        if len(self._unsent) == 1:
            self.flush()

    def flush(self) -> None:
        """Send what can be sent now; ChannelClosed if the other process has ended."""
        while self._unsent:
            data, connection = self._unsent[0]
            try:
                if connection is None:
                    sent = self._socket.send(data)
                else:
                    # The descriptor travels with the first byte; once sent, this process's copy is closed.
                    sent = socket.send_fds(self._socket, [data], [connection])
                    os.close(connection)
            except BlockingIOError:
                return
            except OSError as problem:
                raise ChannelClosed from problem
            if sent == len(data):
                self._unsent.popleft()
            else:
                # The descriptor has been sent, so the rest must not carry it again.
                self._unsent[0] = data[sent:], None

    def receive(self) -> list[Message]:
        """Read the complete messages; ChannelClosed if the other process has ended."""
        try:
            data, connections, _, _ = socket.recv_fds(self._socket, _READ_SIZE, _MOST_CONNECTIONS)
        except BlockingIOError:
            return []
        except OSError as problem:
            raise ChannelClosed from problem
        if not data:
            raise ChannelClosed
        # Descriptors may arrive ahead of their message, never after it.
        self._connections.extend(connections)
        self._received += data
        return self._take_messages()

    def _take_messages(self) -> list[Message]:
        messages, begin = [], 0
        while len(self._received) - begin >= _HEAD.size:
            kind, has_connection, size = _HEAD.unpack_from(self._received, begin)
            if len(self._received) - begin - _HEAD.size < size:
                break
            begin += _HEAD.size
            connection = socket.socket(fileno=self._connections.popleft()) if has_connection == b"1" else None
            messages.append(Message(kind, self._received[begin : begin + size], connection))
            begin += size
        self._received = self._received[begin:]
        return messages

    def close(self) -> None:
        """Close this end, and the connections that were not sent."""
        for _, connection in self._unsent:
            if connection is not None:
                with suppress(OSError):
                    os.close(connection)
        self._unsent.clear()
        self._socket.close()


def open_channel() -> tuple[Channel, Channel]:
    """Open a channel, and return both of its ends."""
    first, second = socket.socketpair()
    return Channel(first), Channel(second)
