"""Reads the key of a request's World from the first bytes of the request."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import unquote

import httptools

from harness.api.http.body import parse_query
from harness.core.exchange import EMPTY_MAPPING
from harness.core.headers import ENCODING
from harness.server.keyed_worlds import opens_world
from harness.server.mock_api import key_at

_KEY_HEADERS = frozenset({b"authorization", b"api-key"})


class _HeadEnd(Exception):
    """Raised inside the parser to stop it at the end of a head."""


class HeadReader:
    """Reads the head of a request as it arrives, with the server's own parser, so that both find the same key.

    `is_whole` says that no more bytes are needed: the head is complete, or invalid, which leaves `url` empty.
    """

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[bytes, bytes] = {}
        self.is_whole = False
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Parse bytes; not to be called once the head is complete."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_whole:
                self.url, self.is_whole = b"", True

    def on_url(self, url: bytes) -> None:
        """Append a part of the URL."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header that may hold the key; of several with the same name the last one counts."""
        if (lower := name.lower()) in _KEY_HEADERS:
            self.headers[lower] = value

    def on_headers_complete(self) -> None:
        """Mark the head as complete, and stop the parser."""
        self.is_whole = True
        raise _HeadEnd


class KeyReader:
    """Finds the keys of requests to a server with only these `keys` and this `dialect`; None means any."""

    def __init__(self, dialect: str | None, keys: Container[str] | None) -> None:
        self._dialect = dialect
        self._keys = keys

    def read(self, head: bytes) -> str:
        """Read the key from a request's first bytes; empty if it belongs to no World, or if the head is incomplete."""
        reader = HeadReader()
        reader.feed(head)
        return self.read_from(reader.url, reader.headers) if reader.is_whole else ""

    def read_from(self, url: bytes, headers: Mapping[bytes, bytes]) -> str:
        """Read the key from a request's raw URL and headers; empty if it belongs to no World."""
        try:
            parsed = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            return ""
        path, query = unquote((parsed.path or b"").decode(ENCODING)), parse_query(parsed.query or b"")
        texts = {name.decode(ENCODING): value.decode(ENCODING) for name, value in headers.items()}
        return self.find(path, texts, query) if path else ""

    def find(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any] = EMPTY_MAPPING) -> str:
        """Return the key of a request with this path, headers and query; empty if it belongs to no World."""
        key, dialect = key_at(path, headers, query, self._dialect)
        return key if key is not None and opens_world(key, dialect, self._keys) else ""
