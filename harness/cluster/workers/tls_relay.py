"""TLS in front of workers: the first process terminates it, and a worker gets one end of a socket pair with plain HTTP.

This way the first process can read a request's key, and hand a connection from one worker to another midway. Nothing
here blocks.
"""

from __future__ import annotations

import os
import selectors
import socket
import ssl
from contextlib import suppress

from harness.server.tls.context import PLAIN_ANSWER, ServerContext
from harness.server.transport.deliver import NO_LINGER

READ_SIZE = 64 * 1024
"""Bytes that are read at once, more than a TLS record holds."""
MOST_HELD = 256 * 1024
"""Bytes that are buffered for a side that does not read; beyond them the other side is not read either."""
_LATER = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


class SecuredSocket:
    """The server's end of a TLS connection; `is_open` is set once the handshake is done."""

    def __init__(self, connection: socket.socket, context: ServerContext) -> None:
        self._context = context
        self._socket = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self.is_open = self._has_failed = False

    def fileno(self) -> int:
        """Return the file descriptor, for a selector."""
        return self._socket.fileno()

    def receive(self) -> bytes | None:
        """Read the available bytes: None if nothing is available, empty once the client has left or broken TLS."""
        try:
            if not self.is_open:
                self._socket.do_handshake()
                self.is_open = True
            return self._socket.recv(READ_SIZE)
        except _LATER:
            return None
        # The client has gone; everything it sent has been read.
        except ssl.SSLEOFError:
            pass
        except ssl.SSLError as problem:
            self._has_failed = True
            if not self.is_open and self._context.note_failure(problem):
                self._answer_plainly()
        except (OSError, ValueError):
            pass
        return b""

    def _answer_plainly(self) -> None:
        """Answer a client that sends plain HTTP."""
        with suppress(OSError), socket.socket(fileno=os.dup(self._socket.fileno())) as plain:
            plain.send(PLAIN_ANSWER)
            plain.shutdown(socket.SHUT_WR)
            # Closing the socket with unread bytes would send a reset, and the client might lose the answer.
            plain.recv(MOST_HELD)

    def send(self, data: bytes) -> int:
        """Send what can be sent now, and return how many bytes that was; OSError if the connection has ended."""
        try:
            return self._socket.send(data)
        except _LATER:
            return 0

    def note_silence(self) -> None:
        """Report a client that sent nothing after it had seen the certificate."""
        if not self._has_failed:
            self._context.note_end(self._socket)

    def close(self, *, resets: bool = False) -> None:
        """Close or reset the connection; closing sends `close_notify`, so the client knows that nothing is missing."""
        with suppress(OSError, ValueError):
            if resets:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            elif self.is_open:
                self._socket.unwrap()
        self._socket.close()

    def forget(self) -> None:
        """Close only the descriptor, in a forked process that does not own the connection."""
        self._socket.close()


class TlsRelay:
    """Carries bytes between a client and its worker until either side ends the connection."""

    def __init__(self, client: SecuredSocket, plain: socket.socket, selector: selectors.BaseSelector) -> None:
        plain.setblocking(False)
        self._client = client
        self._plain = plain
        self._selector = selector
        self._to_worker = self._to_client = b""
        self._client_left = self._worker_left = self._resets = self.has_ended = False
        self._watched: dict[SecuredSocket | socket.socket, int] = {}
        self._watch()

    def pump(self) -> None:
        """Carry the bytes that can be carried now; sets `has_ended` once there will be no more."""
        try:
            self._carry_requests()
            self._carry_answers()
        except OSError:
            self._client_left = True
        # What one side sent before it left still reaches the other.
        if (self._client_left and not self._to_worker) or (self._worker_left and not self._to_client):
            self.close()
        else:
            self._watch()

    def _carry_requests(self) -> None:
        if not self._client_left and len(self._to_worker) < MOST_HELD and (data := self._client.receive()) is not None:
            self._to_worker += data
            self._client_left = not data
        if self._to_worker and not self._worker_left:
            try:
                self._to_worker = self._to_worker[self._plain.send(self._to_worker) :]
            except BlockingIOError:
                return
            except OSError:  # the worker has ended the connection; its last bytes are still to be read
                self._to_worker = b""

    def _carry_answers(self) -> None:
        # A client that does not read must not fill the memory of this process.
        if not self._worker_left and len(self._to_client) < MOST_HELD:
            self._read_worker()
        while self._to_client and (sent := self._client.send(self._to_client[:READ_SIZE])):
            self._to_client = self._to_client[sent:]

    def _read_worker(self) -> None:
        """Read what the worker sends; an accompanying descriptor means that the connection is to be reset."""
        try:
            data, marks, _, _ = socket.recv_fds(self._plain, READ_SIZE, 1)
        except BlockingIOError:
            return
        except OSError:
            data, marks = b"", []
        # The descriptor itself is unused: its arrival is the message.
        for mark in marks:
            os.close(mark)
        self._resets = bool(marks)
        self._worker_left = self._resets or not data
        self._to_client += b"" if self._resets else data

    def _watch(self) -> None:
        """Register with the selector what each side is ready to read or write."""
        self._select(self._client, not self._client_left and len(self._to_worker) < MOST_HELD, bool(self._to_client))
        is_read = not self._worker_left and len(self._to_client) < MOST_HELD
        self._select(self._plain, is_read, bool(self._to_worker) and not self._worker_left)

    def _select(self, side: SecuredSocket | socket.socket, reads: bool, writes: bool) -> None:
        wanted = reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE
        if wanted == (now := self._watched.get(side, 0)):
            return
        if not wanted:
            self._selector.unregister(side)
        elif now:
            self._selector.modify(side, wanted, self)
        else:
            self._selector.register(side, wanted, self)
        self._watched[side] = wanted

    def close(self) -> None:
        """Close the connection on both sides."""
        self.has_ended = True
        for side in (self._client, self._plain):
            self._select(side, False, False)
        self._client.close(resets=self._resets)
        self._plain.close()

    def forget(self) -> None:
        """Close only the descriptors, in a forked process that does not own the connection."""
        self._client.forget()
        self._plain.close()
