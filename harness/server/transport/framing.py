"""HTTP/1.1 as bytes: the head of an answer, and its body framed as the head says."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from harness.core.headers import ENCODING

Headers = tuple[tuple[str, str], ...]
"""Headers in the order in which they are sent."""

PHRASES = {status.value: status.phrase for status in HTTPStatus}
"""The reason phrase of each standard status code."""
STATUS_LINES = {status: f"HTTP/1.1 {status} {PHRASES.get(status, '')}\r\n".encode() for status in range(100, 600)}
"""The status line of an answer, by status code."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_INVALID_NAME = re.compile(r'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_INVALID_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FRAMING_HEADERS = ("connection", "content-length", "transfer-encoding")
_WITHOUT_BODY = frozenset({204, 304})


class BodyFraming(Enum):
    """How the end of a body is signalled."""

    LENGTH = auto()
    CHUNKS = auto()
    CLOSE = auto()
    NO_BODY = auto()


class AnswerFraming:
    """Frames the answer to one request; `keep_alive` says whether the connection stays open for another one."""

    _framing = BodyFraming.CLOSE
    _missing = 0

    def __init__(self, method: str, http_version: str, *, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self._is_head = method == "HEAD"
        self._takes_chunks = http_version != "1.0"

    def encode_head(self, status: int, headers: Headers, length: int | None = None) -> bytes:
        """Encode the head and choose how the body is framed; RuntimeError for invalid header names or values.

        `length` is that of the body, if it is known and not among the headers.
        """
        lines, last = [STATUS_LINES[status]], headers[-1:]
        if last and last[0][0].lower() not in _FRAMING_HEADERS:
            # Most answers differ in their last header alone, the request id.
            encoded, declared, is_chunked, says_close = _encode_lines(headers[:-1])
            lines += (encoded, _encode_line(*last[0]).encode(ENCODING))
        else:
            encoded, declared, is_chunked, says_close = _encode_lines(headers)
            lines.append(encoded)
        if length is None:
            length = declared
        else:
            lines.append(b"content-length: %d\r\n" % length)
        if says_close:
            # The app's own `Connection: close` is in the lines already.
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        # HTTP/1.0 has no chunks, so without a length only closing the connection ends the body.
        if self._is_head:
            self._framing = BodyFraming.NO_BODY
        elif is_chunked:
            self._framing = BodyFraming.CHUNKS
        # 204 and 304 end with their head, so a length of 0 is the same as none.
        elif length is not None or status in _WITHOUT_BODY:
            self._framing, self._missing = BodyFraming.LENGTH, length or 0
        elif self._takes_chunks:
            self._framing = BodyFraming.CHUNKS
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    def encode_part(self, body: bytes, *, more: bool) -> bytes:
        """Encode a part of the body; RuntimeError if the body grows longer than its Content-Length."""
        if self._framing is BodyFraming.NO_BODY:
            return b""
        if self._framing is BodyFraming.CHUNKS:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            # An empty chunk ends the body, so an empty part is not sent as one.
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._framing is BodyFraming.LENGTH:
            self._missing -= len(body)
            if self._missing < 0:
                raise RuntimeError("Response content longer than Content-Length")
        return body

    @property
    def is_short(self) -> bool:
        """Whether the body encoded so far is shorter than its Content-Length."""
        return self._framing is BodyFraming.LENGTH and self._missing > 0


class _HeaderLines(NamedTuple):
    """Encoded header lines, and what they say about the body and the connection."""

    encoded: bytes
    length: int | None
    is_chunked: bool
    says_close: bool


@lru_cache(maxsize=256)
def _encode_lines(headers: Headers) -> _HeaderLines:
    """Encode header lines; RuntimeError for invalid names or values."""
    lines, length, is_chunked, says_close = [], None, False, False
    for name, value in headers:
        lines.append(_encode_line(name, value))
        lower = name.lower()
        if lower == "content-length":
            length = int(value)
        elif lower == "transfer-encoding":
            is_chunked = value.lower() == "chunked"
        elif lower == "connection":
            says_close = "close" in [token.strip() for token in value.lower().split(",")]
    return _HeaderLines("".join(lines).encode(ENCODING), length, is_chunked, says_close)


def _encode_line(name: str, value: str) -> str:
    if _INVALID_NAME.search(name):
        raise RuntimeError("Invalid HTTP header name.")
    if _INVALID_VALUE.search(value):
        raise RuntimeError("Invalid HTTP header value.")
    return f"{name.lower()}: {value}\r\n"


def encode_text(status: int, text: str) -> bytes:
    """Encode a plain-text answer after which the connection is closed."""
    head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
    return STATUS_LINES[status] + head.encode() + text.encode()
