"""POSTs that have come whole; a head that came before with a body of whatever length is not parsed again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import httptools

from harness.core.headers import ENCODING
from harness.fast_path.repeat_cache import RepeatCache

LONGEST = 64 * 1024
"""Bytes of the longest body that is looked at."""
_START = b"POST /"
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: (0|[1-9]\d{0,7})\r\n", re.IGNORECASE)
_PLAIN_PATH = re.compile(rb"/[\w./~-]*")


class PostHead(NamedTuple):
    """The head of a POST: path, headers by names in lower case, bytes of the body."""

    path: str
    headers: Mapping[str, str]
    body_size: int


class PostReader:
    """Reads whole POSTs, from any connection of a server; the head that came last is compared, not searched."""

    def __init__(self) -> None:
        self._known: RepeatCache[tuple[bytes, bytes], PostHead] = RepeatCache()
        self._last: tuple[bytes, PostHead] | None = None

    def read(self, data: bytes, start: int = 0) -> tuple[PostHead, bytes, int] | None:
        """Read the POST that begins at `start`; returns head, body and end.

        None for what is something else, not whole, or in any way out of the ordinary.
        """
        if self._last and data.startswith(self._last[0], start):
            head = self._last[1]
            body_start = start + len(self._last[0])
            end = body_start + head.body_size
            return (head, data[body_start:end], end) if end <= len(data) else None
        body_start = data.find(_HEAD_END, start) + len(_HEAD_END)
        found = _LENGTH.search(data, start, body_start) if data.startswith(_START, start) else None
        if found is None or (size := int(found[1])) > LONGEST or (end := body_start + size) > len(data):
            return None
        length_start, length_end = found.span(1)
        around_length = data[start:length_start], data[length_end:body_start]
        head_bytes = data[start:body_start]
        known = self._known.get(around_length) or self._parse_new(head_bytes, around_length)
        if known is None:
            return None
        is_same = known.body_size == size
        head = known if is_same else PostHead(known.path, {**known.headers, "content-length": str(size)}, size)
        self._last = head_bytes, head
        return head, data[body_start:end], end

    def _parse_new(self, head_bytes: bytes, around_length: tuple[bytes, bytes]) -> PostHead | None:
        """Parse a head; one that comes again is kept by the bytes around the length of its body."""
        head = parse_head(head_bytes)
        if head and self._known.has_seen(around_length):
            self._known.put(around_length, head, len(head_bytes))
        return head


class _Unfit(Exception):
    """Raised within the parser at what is out of the ordinary."""


class _HeadParts:
    """What the parser finds in a head."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[bytes, bytes] = {}
        self._parser = httptools.HttpRequestParser(self)

    def parse(self, head: bytes) -> None:
        """Parse the bytes of a head."""
        self._parser.feed_data(head)

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        lower = name.lower()
        if lower in self.headers:
            raise _Unfit
        self.headers[lower] = value

    def on_headers_complete(self) -> None:
        """Judge the head."""
        parser = self._parser
        is_usual = parser.get_http_version() == "1.1" and parser.should_keep_alive() and not parser.should_upgrade()
        if not is_usual or b"expect" in self.headers or not _PLAIN_PATH.fullmatch(self.url):
            raise _Unfit


def parse_head(head: bytes) -> PostHead | None:
    """Parse the head of a POST; None for one that is out of the ordinary."""
    parts = _HeadParts()
    try:
        parts.parse(head)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    headers = {name.decode(ENCODING): value.decode(ENCODING) for name, value in parts.headers.items()}
    return PostHead(parts.url.decode(), headers, int(headers["content-length"]))
