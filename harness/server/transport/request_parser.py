"""Parses requests with httptools; upgrades other than to a WebSocket are ignored."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import httptools

from harness.api.http.bodies import parse_query
from harness.core.cached import cached_property
from harness.core.exchange import EMPTY_MAPPING, ReceivedRequest
from harness.core.headers import ENCODING
from harness.server.transport.asgi_types import Scope

WEBSOCKET = "websocket"
HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 8 * 1024
"""Size limit, in bytes, of heads that are remembered."""
INVALID = "Invalid HTTP request received."
TWO_HOSTS = "A request has one Host header, this one has several."


class BadRequest(ValueError):
    """Raised for bytes that are no HTTP request; its text is the body of the 400."""


class Target(NamedTuple):
    """The address of a request: its path, decoded and as it was sent, and its query."""

    path: str
    raw_path: bytes
    query: bytes


@dataclass(frozen=True, eq=False)
class RequestHead:
    """The head of a request as it was sent, with header names in lower case."""

    method: str
    url: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    keeps_alive: bool

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The headers as text, the last one of those with the same name."""
        return {name.decode(ENCODING): value.decode(ENCODING) for name, value in self.headers}

    @cached_property
    def target(self) -> Target:
        """The address in parts; BadRequest for an invalid one."""
        try:
            found = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError:
            raise BadRequest(INVALID) from None
        raw_path = found.path or b"/"  # a whole URL may end with its host
        path = raw_path.decode("ascii")
        return Target(unquote(path) if "%" in path else path, raw_path, found.query or b"")

    @cached_property
    def expects_continue(self) -> bool:
        """Whether the client waits for a `100 Continue` before it sends the body; HTTP/1.0 does not know it."""
        return self.version != "1.0" and self.texts.get("expect", "").lower() == "100-continue"

    @property
    def asks_for_websocket(self) -> bool:
        """Whether the request asks to upgrade the connection to a WebSocket; HTTP/1.0 has no upgrades."""
        if self.method != "GET" or self.version == "1.0":
            return False
        tokens = [token.strip() for token in self.texts.get("connection", "").lower().split(",")]
        return "upgrade" in tokens and self.texts.get("upgrade", "").lower() == WEBSOCKET

    @property
    def is_tunnel(self) -> bool:
        """Whether the request asks for a tunnel, which is not offered."""
        return self.method == "CONNECT"

    @cached_property
    def body_size(self) -> int | None:
        """The size of the body, if its head says it."""
        size = self.texts.get("content-length", "0")
        return int(size) if size.isdecimal() and "transfer-encoding" not in self.texts else None

    def encode(self, *, without: bytes = b"") -> bytes:
        """Encode the head again, leaving out one header if `without` names it."""
        start = b"%b %b HTTP/%b" % (self.method.encode(), self.url, self.version.encode())
        kept = [b"%b: %b" % header for header in self.headers if header[0] != without]
        return b"\r\n".join([start, *kept, b"", b""])

    def as_received(self, body: bytes = b"") -> ReceivedRequest:
        """Build the request with its body; BadRequest for an invalid address."""
        return tuple.__new__(ReceivedRequest, (*self._without_body, body, None))

    @cached_property
    def _without_body(self) -> tuple[str, str, Mapping[str, str], Mapping[str, Any]]:
        path, _, query = self.target
        return self.method, path, self.texts, parse_query(query) if query else EMPTY_MAPPING

    def as_scope(self) -> Scope:
        """Build the ASGI scope of the request; BadRequest for an invalid address."""
        path, raw_path, query = self.target
        return {
            "type": "http",
            "http_version": self.version,
            "method": self.method,
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self.headers,
        }


class Mark(Enum):
    """The first byte of a request, and the end of its body."""

    BEGIN = auto()
    END = auto()


BEGIN, END = Mark


class Upgrade(NamedTuple):
    """The head of a CONNECT or a WebSocket upgrade; the `rest` that has come after it is no HTTP."""

    head: RequestHead
    rest: bytes


RequestAtOnce = tuple[RequestHead, bytes]
"""A request that arrived all at once: its head and its body."""
Part = RequestAtOnce | Mark | RequestHead | bytes | Upgrade | BadRequest
"""A whole request, or a part: BEGIN, its head, parts of its body, END. Nothing follows an upgrade or an invalid request."""


class RequestParser:
    """Parses the requests of a connection into their parts; a head that a server has parsed is not parsed again."""

    _head: RequestHead

    def __init__(self) -> None:
        self._is_inside = self._is_upgrade = False
        self._missing = 0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[Part] = []

    @cached_property
    def _parser(self) -> httptools.HttpRequestParser:
        """The parser of requests that are unusual or whose head arrives in parts; most connections have none."""
        parser = httptools.HttpRequestParser(self)
        # Bytes after the last request of a connection must not keep that request from being answered.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def close(self) -> None:
        """Let go of httptools' parser, which refers back: only a collection of old objects would free both."""
        self.__dict__.pop("_parser", None)

    def feed(self, data: bytes) -> list[Part]:
        """Parse bytes and return the parts that they complete."""
        start, size = 0, len(data)
        while start < size and not self._is_inside:
            if self._missing:
                start = self._take_body(data, start)
                continue
            # Most heads are usual, and most requests arrive at once, or first the head and then the body.
            body_start = data.find(HEAD_END, start, start + LONGEST_HEAD) + 4  # the size of HEAD_END
            head = parse_head(data[start:body_start]) if body_start > 3 else None
            if head is None:
                break
            end = body_start + (head.body_size or 0)
            if end <= size:
                self._parts.append((head, data[body_start:end]))
                start = end
            else:
                self._parts += (BEGIN, head)
                self._missing, start = end - body_start, body_start
        if start < size:
            self._parse(data[start:] if start else data)
        parts, self._parts = self._parts, []
        return parts

    def _take_body(self, data: bytes, start: int) -> int:
        """Take a part of the body of a request with a usual head; return where the part ends."""
        part = data[start : start + self._missing]
        self._missing -= len(part)
        self._parts += (part,) if self._missing else (part, END)
        return start + len(part)

    def parse_head(self, head: bytes) -> RequestHead | None:
        """Parse a head alone; None unless it is that of a usual request, whose body has a length."""
        self._parse(head)
        self.close()
        found = self._parts[1] if len(self._parts) > 1 else None
        if not isinstance(found, RequestHead) or found.is_tunnel or found.body_size is None:
            return None
        return found if found.keeps_alive else None

    def _parse(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            try:
                self._parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                head = self._head
                if head.is_tunnel or head.asks_for_websocket:
                    self._parts.append(Upgrade(head, bytes(rest[int(upgrade.args[0]) :])))
                    return
                # httptools stops at any upgrade and leaves the body unread, so the request is parsed again without that
                # header.
                del self._parser
                self._parse(head.encode(without=b"upgrade"))
                rest = rest[max(1, int(upgrade.args[0])) :]
            except httptools.HttpParserError as problem:
                refusal = problem.__context__
                self._parts.append(refusal if isinstance(refusal, BadRequest) else BadRequest(INVALID))
                return

    def on_message_begin(self) -> None:
        """Start a request."""
        self._url, self._headers, self._is_inside = b"", [], True
        self._parts.append(BEGIN)

    def on_url(self, url: bytes) -> None:
        """Append a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Add the head of a request, unless it asks for an upgrade, which `feed` handles."""
        if sum([name == b"host" for name, _ in self._headers]) > 1:
            raise BadRequest(TWO_HOSTS)
        parser = self._parser
        method, version = parser.get_method().decode("ascii"), parser.get_http_version()
        keeps_alive = version != "1.0" and method != "CONNECT" and parser.should_keep_alive()
        self._head = head = RequestHead(method, self._url, version, self._headers, keeps_alive)
        self._headers = []  # what is in the trailer of a body in chunks is no part of the head
        self._is_upgrade = parser.should_upgrade() and not head.is_tunnel
        if not self._is_upgrade:
            self._parts.append(head)

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Add the end of a request."""
        self._is_inside = self._is_upgrade
        if not self._is_upgrade:
            self._parts.append(END)


@lru_cache(maxsize=256)
def parse_head(head: bytes) -> RequestHead | None:
    """Parse a head; None unless it is that of a usual request, whose body has a length."""
    return RequestParser().parse_head(head)
