"""uvicorn's HTTP protocol as the mock needs it: one write for head and body, and bounds on what a client sends.

A request has to be whole in time, has at most one `Host`, and becomes a WebSocket only as a GET; to HTTP/1.0 nothing is
answered in chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from harness.server.transport.coalesced_write import CoalescingTransport

REQUEST_SECONDS = 20.0
"""Seconds in which a request has to be whole, and one more for each RECEIVED_PER_SECOND bytes that came."""
RECEIVED_PER_SECOND = 500
TOO_SLOW = "The request did not become whole in time."
CONNECT = "CONNECT"
INVALID = "Invalid HTTP request received."
TWO_HOSTS = "A request has one Host header, this one has several."


class BadRequest(ValueError):
    """Raised within the parser, which ends the request with status 400."""


class UnchunkedCycle(RequestResponseCycle):
    """The answer to a request of HTTP/1.0: if its length is unknown, it ends with the connection."""

    async def send(self, message: Any) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            has_length = any(name.lower() == b"content-length" for name, _ in message["headers"])
            self.chunked_encoding = None if has_length else False
            self.ends_with_connection = not has_length
        elif self.ends_with_connection:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol on a coalescing transport.

    What ends the requests of a connection (a refusal, an upgrade) waits for the answers to those before:

        reading ──refused, upgrade──> is an earlier request unanswered? ──no──> _last()  (error and close; WebSocket)
           │                             yes: `_last` is kept, nothing more is read ──answers are out──> _last()
           └─body refused while its request is answered──> error unless the answer has begun, close

    `request_begun` is when the client began the request that it is sending, in seconds of the event loop; None while it
    sends none. `received` is how many bytes came since.
    """

    request_begun: float | None
    received: int
    _last: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wrap the transport of a new connection, from which a request is expected."""
        super().connection_made(cast("asyncio.Transport", CoalescingTransport(transport, self.loop)))
        self._expect_request()

    def eof_received(self) -> None:
        """Take leave of a client."""
        self._note_silence()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take leave of a connection, which its client has reset if there is an error."""
        if exc is not None:
            self._note_silence()
        super().connection_lost(exc)

    def _note_silence(self) -> None:
        """Report a client that shook hands over TLS and said nothing."""
        is_silent = self.request_begun is not None and not self.received and self.cycle is None
        if is_silent and (secured := self.transport.get_extra_info("ssl_object")):
            secured.context.note_end(secured)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; white space between two requests is the begin of one, too."""
        if self._last is not None:
            return
        if self.request_begun is None:
            self._expect_request()
        self.received += len(data)
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        while rest and not self.transport.is_closing():
            rest = rest[self._parse(rest) :]

    def _parse(self, data: memoryview) -> int:
        """Parse bytes; returns how many were taken, at least one: all, or those up to an upgrade that nobody makes.

        The parser takes what follows the head of such a request for another protocol, though it is its body. After a
        CONNECT nothing is read.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.scope["method"] == CONNECT:
                return len(data)
            if self.scope["method"] != "GET" or self._get_upgrade() != b"websocket":
                self._parse_without_upgrade()
                return max(1, int(upgrade.args[0]))
            self._end_with(self.handle_websocket_upgrade)
        except httptools.HttpParserError:
            self.send_400_response(INVALID)
        return len(data)

    def _parse_without_upgrade(self) -> None:
        """Parse the head of the request that was parsed last again, without its `Upgrade`."""
        start = f"{self.scope['method']} {self.url.decode('latin-1')} HTTP/{self.scope['http_version']}"
        kept = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        try:
            self.parser.feed_data(b"\r\n".join([start.encode("latin-1"), *kept, b"", b""]))
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            self.send_400_response(INVALID)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._expect_request(received=1)

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        if self._host_count > 1:
            raise BadRequest
        super().on_headers_complete()
        if self.cycle is not None and self.scope["method"] == CONNECT:
            self.cycle.keep_alive = False
        if self.scope["http_version"] == "1.0" and self.cycle is not None and self.cycle.scope is self.scope:
            self.cycle.__class__ = UnchunkedCycle  # uvicorn has no way to give it one

    def on_message_complete(self) -> None:
        """End a request."""
        self.request_begun = None
        super().on_message_complete()

    def end_slow_request(self) -> None:
        """Refuse a request that is not whole in time, unless an earlier one of the connection is being answered."""
        now = self.loop.time()
        if self.request_begun is None:
            return
        if self.flow.read_paused or (self.cycle and not self.cycle.response_complete and not self.cycle.more_body):
            self.request_begun = now
        elif now - self.request_begun > REQUEST_SECONDS + self.received / RECEIVED_PER_SECOND:
            self._refuse(408, TOO_SLOW)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(400, TWO_HOSTS if self._host_count > 1 else msg)

    def _refuse(self, status: int, text: str) -> None:
        """Refuse what the client is sending, and close the connection; a request whose answer has begun is cut off."""
        cycle = self.cycle
        if cycle is not None and cycle.more_body and not cycle.response_complete:  # its body is what is refused
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
            else:
                if not cycle.response_started:
                    self._write_error(status, text)
                self.transport.close()
                return
        self._end_with(partial(self._write_last, status, text))

    def _write_last(self, status: int, text: str) -> None:
        self._write_error(status, text)
        self.transport.close()

    def _end_with(self, last: Callable[[], None]) -> None:
        """Do what ends the requests of the connection, once those that came before are answered."""
        if self.cycle is None or self.cycle.response_complete:
            last()
        elif self._last is None:
            self._last = last

    def on_response_complete(self) -> None:
        """Go on after an answer."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._last is not None and not self.transport.is_closing():
            self._last()

    @property
    def _host_count(self) -> int:
        return sum(name == b"host" for name, _ in self.headers or ())

    def _expect_request(self, received: int = 0) -> None:
        self.request_begun, self.received = self.loop.time(), received

    def _write_error(self, status: int, text: str) -> None:
        head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head.encode() + text.encode())

    def _should_upgrade(self) -> bool:
        """Whether to wait with a request that asks for an upgrade: `_parse` says what becomes of it, unless CONNECT does."""
        return bool(self.scope["method"] != CONNECT)
