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
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_INVALID_NAME = re.compile(r'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_INVALID_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NO_HEADER = ("", "")
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
        self._method = method
        self._version = http_version

    def encode_head(self, status: int, headers: Headers, length: int | None = None) -> bytes:
        """Encode the head and choose how the body is framed; RuntimeError for invalid header names or values.

        `length` is that of the body, if it is known and not among the headers.
        """
        # Most answers differ in their last header alone, the request id.
        others, new = (headers[:-1], headers[-1]) if headers else ((), _NO_HEADER)
        if new[0].lower() in _FRAMING_HEADERS:
            others, new = headers, _NO_HEADER
        start = _encode_start(status, others, length is not None, self.keep_alive, self._method, self._version)
        self._framing, self.keep_alive, self._missing = start.framing, start.keep_alive, length or start.length
        last = b"" if new is _NO_HEADER else _encode_line(*new).encode(ENCODING)
        if length is None:
            return b"%b%b%b" % (start.encoded, last, start.end)
        return b"%b%bcontent-length: %d\r\n%b" % (start.encoded, last, length, start.end)

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

    def encode_whole(self, status: int, headers: Headers, body: bytes, *, is_stream: bool) -> bytes:
        """Encode an answer with all of its body; that of a stream has no length in its head."""
        head = self.encode_head(status, headers, None if is_stream else len(body))
        if self._framing is BodyFraming.CHUNKS and body:
            return b"%b%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body)  # copies a long body once
        return head + self.encode_part(body, more=False)

    @property
    def is_short(self) -> bool:
        """Whether the body encoded so far is shorter than its Content-Length."""
        return self._framing is BodyFraming.LENGTH and self._missing > 0


class _Start(NamedTuple):
    """The beginning and the `end` of a head, around the headers that are new in each answer, and what it says."""

    encoded: bytes
    end: bytes
    framing: BodyFraming
    length: int
    keep_alive: bool


@lru_cache(maxsize=256)
def _encode_start(
    status: int, headers: Headers, has_length: bool, keep_alive: bool, method: str, http_version: str
) -> _Start:
    """Encode the beginning of a head; with `has_length` the length of the body follows. RuntimeError as `encode_head`."""
    said = {name.lower(): value for name, value in headers}
    lines = [_encode_line(*header) for header in headers]
    tokens = [token.strip() for token in said.get("connection", "").lower().split(",")]
    is_chunked = said.get("transfer-encoding", "").lower() == "chunked"
    end = ""
    if "close" in tokens:  # the app's own `Connection: close` is in the lines already
        keep_alive = False
    elif not keep_alive:
        end = "connection: close\r\n"
    if method == "HEAD":
        framing = BodyFraming.NO_BODY
    elif is_chunked:
        framing = BodyFraming.CHUNKS
    # 204 and 304 end with their head, so a length of 0 is the same as none.
    elif has_length or "content-length" in said or status in _WITHOUT_BODY:
        framing = BodyFraming.LENGTH
    # HTTP/1.0 has no chunks, so without a length only closing the connection ends the body.
    elif http_version == "1.0":
        framing = BodyFraming.CLOSE
    else:
        framing, end = BodyFraming.CHUNKS, f"{end}transfer-encoding: chunked\r\n"
    encoded = STATUS_LINES[status] + "".join(lines).encode(ENCODING)
    return _Start(encoded, f"{end}\r\n".encode(), framing, int(said.get("content-length", 0)), keep_alive)


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
