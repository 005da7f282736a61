"""The key of the World that a request belongs to, as its first bytes say it."""

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
    """Raised within the parser at the end of a head."""


class HeadReader:
    """Reads the head of a request as it comes, with the parser of the server, so that both find the same key.

    `is_whole` says that nothing more is needed: the head has come, or cannot be one, and then has no `url`.
    """

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[bytes, bytes] = {}
        self.is_whole = False
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Take bytes; none once it is whole."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_whole:
                self.url, self.is_whole = b"", True

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; of several with one name the last counts."""
        if (lower := name.lower()) in _KEY_HEADERS:
            self.headers[lower] = value

    def on_headers_complete(self) -> None:
        """End the reading."""
        self.is_whole = True
        raise _HeadEnd


class KeyReader:
    """Finds the keys of requests to a server that knows only these `keys` (None: all) and this `dialect` (None: all)."""

    def __init__(self, dialect: str | None, keys: Container[str] | None) -> None:
        self._dialect = dialect
        self._keys = keys

    def read(self, head: bytes) -> str:
        """Read the key of a request from its first bytes; empty when it belongs to no World, or has no whole head yet."""
        reader = HeadReader()
        reader.feed(head)
        return self.read_from(reader.url, reader.headers) if reader.is_whole else ""

    def read_from(self, url: bytes, headers: Mapping[bytes, bytes]) -> str:
        """Read the key of a request from its address as sent and its headers; empty when it belongs to no World."""
        try:
            parsed = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            return ""
        path, query = unquote((parsed.path or b"").decode(ENCODING)), parse_query(parsed.query or b"")
        texts = {name.decode(ENCODING): value.decode(ENCODING) for name, value in headers.items()}
        return self.find(path, texts, query) if path else ""

    def find(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any] = EMPTY_MAPPING) -> str:
        """Find the key of a request by its path, its headers and its query."""
        key, dialect = key_at(path, headers, query, self._dialect)
        return key if key is not None and opens_world(key, dialect, self._keys) else ""
