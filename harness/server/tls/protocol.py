"""TLS between the transport of a connection and the protocol of its requests.

A handshake has its time, is one of the server's connections meanwhile, so that it ends with the server, and who speaks plain
http instead is answered. Event loops have none of it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from harness.server.tls.context import PLAIN_ANSWER, ServerContext

HANDSHAKE_SECONDS = 20.0
"""Seconds in which a handshake has to be done."""
READ_SIZE = 256 * 1024


class SecuredTransport:
    """The transport of the protocol of the requests; all but what is written and how it ends is that of the connection."""

    def __init__(self, connection: TlsProtocol) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.send(data)

    def close(self) -> None:
        """Close the connection once all is sent, and say that nothing is missing."""
        self._connection.close()

    def can_write_eof(self) -> bool:
        """TLS ends in both directions at once."""
        return False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Go on with another protocol."""
        self._connection.protocol = cast("asyncio.Protocol", protocol)

    def get_protocol(self) -> asyncio.BaseProtocol | None:
        """Return the protocol of the requests."""
        return self._connection.protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection by this name."""
        own = {"ssl_object": self._connection.secured, "sslcontext": self._connection.secured.context}
        return own[name] if name in own else self._connection.transport.get_extra_info(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection.transport, name)


class TlsProtocol(asyncio.Protocol):
    """The server's side of a connection over TLS; `protocol` is that of its requests, None before the handshake is done."""

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
        """Wait for the handshake."""
        self.transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._time = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends."""
        if self._is_closing:
            return
        self._incoming.write(data)
        try:
            if self.protocol is None:
                self.secured.do_handshake()
                self._begin()
            self._read()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as problem:
            self._fail(problem)

    def _begin(self) -> None:
        """Begin with requests."""
        self._flush()
        self._end_handshake()
        self.protocol = self._make_protocol(**self._arguments)
        self.protocol.connection_made(cast("asyncio.Transport", SecuredTransport(self)))

    def _read(self) -> None:
        """Hand over what has come; SSLWantReadError when that is all of it."""
        parts: list[bytes] = []
        try:
            while part := self.secured.read(READ_SIZE):
                parts.append(part)
        except ssl.SSLZeroReturnError:
            pass
        finally:
            if parts and self.protocol:
                self.protocol.data_received(b"".join(parts))
        if self.protocol:  # the client has said that it sends no more
            self.protocol.eof_received()
        self.close()

    def _fail(self, problem: ssl.SSLError) -> None:
        """End a connection that does not speak TLS, or not rightly; who speaks plain http has to end it."""
        self._is_closing = True
        if self.protocol is None and self._context.note_failure(problem):
            self.transport.write(PLAIN_ANSWER)
        else:
            self._flush()
            self.transport.close()

    def send(self, data: bytes) -> None:
        """Send bytes of an answer."""
        if data and not self._is_closing:
            with suppress(ssl.SSLError):  # the client has gone, which is told by the end of the connection
                self.secured.write(data)
            self._flush()

    def close(self) -> None:
        """Close the connection once all is sent."""
        if not self._is_closing:
            self._is_closing = True
            with suppress(ssl.SSLError):  # the client need not answer
                self.secured.unwrap()
            self._flush()
            self.transport.close()

    def _flush(self) -> None:
        if encrypted := self._outgoing.read():
            self.transport.write(encrypted)

    def eof_received(self) -> None:
        """Take leave of a client."""
        if self.protocol:
            self.protocol.eof_received()

    def pause_writing(self) -> None:
        """Wait for a client that does not read."""
        if self.protocol:
            self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Go on writing."""
        if self.protocol:
            self.protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take leave of a connection."""
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
        """End a connection over which nothing was asked for."""
        self.transport.abort()
