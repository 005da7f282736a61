"""TLS between a connection's transport and its HTTP protocol.

A handshake has a time limit and counts among the server's connections, so that a shutdown ends it; a client that sends
plain HTTP gets an answer. asyncio's own TLS gives no control over these.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from harness.server.tls.certificate import PLAIN_ANSWER, ServerContext

HANDSHAKE_SECONDS = 20.0
"""Seconds that a client has for the handshake."""
READ_SIZE = 256 * 1024


class SecuredTransport:
    """The transport that the HTTP protocol sees: encrypts writes and closes over TLS; the rest is the socket's."""

    def __init__(self, connection: TlsProtocol) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        """Encrypt and send bytes."""
        self._connection.send(data)

    def close(self) -> None:
        """Close the connection after all pending writes, with TLS's `close_notify`."""
        self._connection.close()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand the connection over to another protocol, as after a WebSocket upgrade."""
        self._connection.protocol = cast("asyncio.Protocol", protocol)

    def get_protocol(self) -> asyncio.BaseProtocol | None:
        """Return the protocol of the decrypted data."""
        return self._connection.protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the connection, as asyncio's transports do."""
        own = {"ssl_object": self._connection.secured, "sslcontext": self._connection.secured.context}
        return own[name] if name in own else self._connection.transport.get_extra_info(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection.transport, name)


class TlsProtocol(asyncio.Protocol):
    """The server's side of a TLS connection; `protocol` handles decrypted data, None until the handshake is done."""

    transport: asyncio.Transport

    def __init__(
        self, *, make_protocol: Callable[..., asyncio.Protocol], context: ServerContext, **arguments: Any
    ) -> None:
        self._make_protocol, self._arguments = make_protocol, arguments
        self._connections: set[Any] = arguments["server_state"].connections
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._context = context
        self.secured = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.protocol: asyncio.Protocol | None = None
        self._is_closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the handshake, with a time limit."""
        self.transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._time = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Decrypt received bytes and pass them on; the first ones complete the handshake."""
        if self._is_closing:
            return
        self._incoming.write(data)
        try:
            if self.protocol is None:
                self.secured.do_handshake()
                self._begin()
            self._read()
        # A record is not complete yet; what the handshake wants to say goes out meanwhile.
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as problem:
            self._fail(problem)

    def _begin(self) -> None:
        """Create the protocol for the decrypted data, once the handshake is done."""
        self._flush()
        self._end_handshake()
        self.protocol = self._make_protocol(**self._arguments)
        self.protocol.connection_made(cast("asyncio.Transport", SecuredTransport(self)))

    def _read(self) -> None:
        """Pass on all data decrypted so far; always ends with SSLWantReadError unless the client has closed."""
        parts: list[bytes] = []
        try:
            while part := self.secured.read(READ_SIZE):
                parts.append(part)
        except ssl.SSLZeroReturnError:
            pass
        finally:
            if parts and self.protocol:
                self.protocol.data_received(b"".join(parts))
        if self.protocol:  # the client sent close_notify
            self.protocol.eof_received()
        self.close()

    def _fail(self, problem: ssl.SSLError) -> None:
        """End a connection that violates TLS; a client that sent plain HTTP gets an answer and closes it itself."""
        self._is_closing = True
        if self.protocol is None and self._context.note_failure(problem):
            self.transport.write(PLAIN_ANSWER)
        else:
            self._flush()
            self.transport.close()

    def send(self, data: bytes) -> None:
        """Encrypt and send bytes."""
        if data and not self._is_closing:
            with suppress(ssl.SSLError):  # the client has gone; connection_lost will report it
                self.secured.write(data)
            self._flush()

    def close(self) -> None:
        """Close the connection after all pending writes."""
        if not self._is_closing:
            self._is_closing = True
            with suppress(ssl.SSLError):  # the client need not acknowledge close_notify
                self.secured.unwrap()
            self._flush()
            self.transport.close()

    def _flush(self) -> None:
        if encrypted := self._outgoing.read():
            self.transport.write(encrypted)

    def eof_received(self) -> None:
        """Pass the client's end of file on."""
        if self.protocol:
            self.protocol.eof_received()

    def pause_writing(self) -> None:
        """Pause the protocol's writes, as the socket's buffer is full."""
        if self.protocol:
            self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Resume the protocol's writes."""
        if self.protocol:
            self.protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record how the connection ended and inform the protocol."""
        if not (self.protocol or self._is_closing):
            self._context.note_end(self.secured)
        self._is_closing = True
        self._end_handshake()
        if self.protocol:
            self.protocol.connection_lost(exc)

    def _end_handshake(self) -> None:
        self._time.cancel()
        self._connections.discard(self)

    def shutdown(self) -> None:
        """Abort a connection that is still in its handshake, as the server shuts down."""
        self.transport.abort()
