"""Parses requests with httptools; upgrades other than to a WebSocket are ignored."""

from __future__ import annotations

from typing import NamedTuple, Protocol
from urllib.parse import unquote

import httptools

from harness.server.transport.asgi_types import Scope

CONNECT = "CONNECT"
WEBSOCKET = b"websocket"
INVALID = "Invalid HTTP request received."
TWO_HOSTS = "A request has one Host header, this one has several."


class BadRequest(ValueError):
    """Raised for bytes that are no HTTP request; its text is the body of the 400."""


class RequestHead(NamedTuple):
    """The head of a request as it was sent, with header names in lower case."""

    method: str
    url: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    keeps_alive: bool

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for a `100 Continue` before it sends the body."""
        return any(name == b"expect" and value.lower() == b"100-continue" for name, value in self.headers)

    @property
    def asks_for_websocket(self) -> bool:
        """Whether the request asks to upgrade the connection to a WebSocket."""
        headers = dict(self.headers)
        tokens = [token.strip() for token in headers.get(b"connection", b"").lower().split(b",")]
        return self.method == "GET" and b"upgrade" in tokens and headers.get(b"upgrade", b"").lower() == WEBSOCKET

    def encode(self, *, without: bytes = b"") -> bytes:
        """Encode the head again, leaving out one header if `without` names it."""
        start = b"%b %b HTTP/%b" % (self.method.encode(), self.url, self.version.encode())
        kept = [b"%b: %b" % header for header in self.headers if header[0] != without]
        return b"\r\n".join([start, *kept, b"", b""])

    def as_scope(self) -> Scope:
        """Build the ASGI scope of the request; BadRequest for an invalid address."""
        try:
            url = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError:
            raise BadRequest(INVALID) from None
        path = url.path.decode("ascii")
        return {
            "type": "http",
            "http_version": self.version,
            "method": self.method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
            "headers": self.headers,
        }


class RequestReceiver(Protocol):
    """Receives what a parser reads; a BadRequest raised in these methods is passed on by the parser."""

    def begin_head(self) -> None:
        """Handle the start of a request's head."""

    def begin_body(self, head: RequestHead) -> None:
        """Handle the complete head of a request."""

    def take_body(self, body: bytes) -> None:
        """Handle a part of the body."""

    def end_request(self) -> None:
        """Handle the end of a request."""


class RequestParser:
    """Parses the requests of a connection and passes them to `receiver`."""

    def __init__(self, receiver: RequestReceiver) -> None:
        self._receiver = receiver
        self._parser = self._make_parser()
        self._is_upgrade = False
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def _make_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # Bytes after the last request of a connection must not keep that request from being answered.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def feed(self, data: bytes | memoryview) -> RequestHead | None:
        """Parse bytes; return the head of a CONNECT or a WebSocket upgrade, after which no further request follows.

        Raises BadRequest for bytes that are no valid request.
        """
        rest = memoryview(data)
        while rest:
            try:
                self._parser.feed_data(rest)
                break
            except httptools.HttpParserUpgrade as upgrade:
                head = self._make_head()
                if head.method == CONNECT or head.asks_for_websocket:
                    return head
                # httptools stops at any upgrade and leaves the body unread, so the request is parsed again without that
                # header.
                self._parser = self._make_parser()
                self.feed(head.encode(without=b"upgrade"))
                rest = rest[max(1, int(upgrade.args[0])) :]
            except httptools.HttpParserError as problem:
                refusal = problem.__context__
                raise refusal if isinstance(refusal, BadRequest) else BadRequest(INVALID) from None
        return None

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url, self._headers = b"", []
        self._receiver.begin_head()

    def on_url(self, url: bytes) -> None:
        """Append a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Pass on the head of a request, unless it asks for an upgrade, which `feed` handles."""
        if sum(name == b"host" for name, _ in self._headers) > 1:
            raise BadRequest(TWO_HOSTS)
        head = self._make_head()
        self._is_upgrade = self._parser.should_upgrade() and head.method != CONNECT
        if not self._is_upgrade:
            self._receiver.begin_body(head)

    def _make_head(self) -> RequestHead:
        parser = self._parser
        method, version = parser.get_method().decode("ascii"), parser.get_http_version()
        return RequestHead(method, self._url, version, self._headers, parser.should_keep_alive())

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._receiver.take_body(body)

    def on_message_complete(self) -> None:
        """Pass on the end of a request."""
        if not self._is_upgrade:
            self._receiver.end_request()
