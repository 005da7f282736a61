"""HTTP/1.1 as bytes: the head of an answer, and its body framed as the head says."""

import re
from collections.abc import Sequence
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
_FRAMING_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})
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
        names, values = zip(*headers, strict=True) if headers else ((), ())
        known = (names, status, length is not None, self.keep_alive, self._method, self._version)
        head = _plan_head(*known)
        if head.framing_at:
            head = _plan_head(*known, tuple([values[place].lower() for place in head.framing_at]))
        if not "".join(values).isprintable() and any(map(_INVALID_VALUE.search, values)):
            raise RuntimeError("Invalid HTTP header value.")
        self._framing, self.keep_alive, self._missing = head.framing, head.keep_alive, length or head.length
        return (head.template % (values if length is None else (*values, length))).encode(ENCODING)

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
        if self._framing is BodyFraming.LENGTH and len(body) == self._missing:
            return head + body
        if self._framing is BodyFraming.CHUNKS and body:
            return b"%b%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body)  # copies a long body once
        return head + self.encode_part(body, more=False)

    @property
    def is_short(self) -> bool:
        """Whether the body encoded so far is shorter than its Content-Length."""
        return self._framing is BodyFraming.LENGTH and self._missing > 0


class _Head(NamedTuple):
    """A head without the values of its headers, and what it says about the body.

    `framing_at` are the places of headers that frame the body; their values decide on the rest.
    """

    template: str
    framing: BodyFraming
    length: int
    keep_alive: bool
    framing_at: Sequence[int]


@lru_cache(maxsize=256)
def _plan_head(
    names: tuple[str, ...],
    status: int,
    has_length: bool,
    keep_alive: bool,
    method: str,
    http_version: str,
    said: tuple[str, ...] = (),
) -> _Head:
    """Plan a head with these headers; with `has_length` the length of the body follows them.

    `said` are the values of those that frame the body, in lower case. RuntimeError for an invalid name.
    """
    if any(map(_INVALID_NAME.search, names)):
        raise RuntimeError("Invalid HTTP header name.")
    known = [name.lower() for name in names]
    framing_at = [place for place, name in enumerate(known) if name in _FRAMING_HEADERS]
    framed_by = dict(zip([known[place] for place in framing_at], said, strict=False))
    end = "content-length: %d\r\n" if has_length else ""
    if "close" in [token.strip() for token in framed_by.get("connection", "").split(",")]:
        keep_alive = False
    elif not keep_alive:
        end += "connection: close\r\n"
    if method == "HEAD":
        framing = BodyFraming.NO_BODY
    elif framed_by.get("transfer-encoding") == "chunked":
        framing = BodyFraming.CHUNKS
    # 204 and 304 end with their head, so a length of 0 is the same as none.
    elif has_length or "content-length" in framed_by or status in _WITHOUT_BODY:
        framing = BodyFraming.LENGTH
    # HTTP/1.0 has no chunks, so without a length only closing the connection ends the body.
    elif http_version == "1.0":
        framing = BodyFraming.CLOSE
    else:
        framing, end = BodyFraming.CHUNKS, f"{end}transfer-encoding: chunked\r\n"
    lines = "".join(["{}: %s\r\n".format(name.replace("%", "%%")) for name in known])
    template = f"{STATUS_LINES[status].decode()}{lines}{end}\r\n"
    return _Head(template, framing, int(framed_by.get("content-length", 0)), keep_alive, framing_at)


def encode_text(status: int, text: str) -> bytes:
    """Encode a plain-text answer after which the connection is closed."""
    head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
    return STATUS_LINES[status] + head.encode() + text.encode()
