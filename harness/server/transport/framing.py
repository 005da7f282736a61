"""HTTP/1.1 as bytes: the head of an answer, and its body framed as the head says."""

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from harness.core.headers import ENCODING, header_pairs

Headers = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of headers in the order in which they are sent, and their values."""

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


class AnswerFraming(NamedTuple):
    """How an answer is framed: its head without the values of its headers, and what follows it.

    `length` is that of the body, if a header says it. With `keep_alive` the connection stays open for another request.
    `framing_at` are the places of the headers that frame the body; their values decide on the rest.
    """

    template: str
    body: BodyFraming
    length: int
    keep_alive: bool
    framing_at: Sequence[int]

    def encode_head(self, values: tuple[str, ...], length: int | None = None) -> bytes:
        """Encode the head with the values of its headers, and the length of the body if it was planned.

        RuntimeError for invalid values.
        """
        if not "".join(values).isprintable() and any(map(_INVALID_VALUE.search, values)):
            raise RuntimeError("Invalid HTTP header value.")
        return (self.template % (values if length is None else (*values, length))).encode(ENCODING)

    def encode_part(self, body: bytes, *, more: bool, head: bytes = b"") -> bytes:
        """Encode a part of the body, the first one behind the head."""
        if self.body is BodyFraming.NO_BODY:
            return head
        if self.body is BodyFraming.CHUNKS:
            # An empty chunk ends the body, so an empty part is not sent as one. A long body is copied once.
            end = b"" if more else b"0\r\n\r\n"
            return b"%b%x\r\n%b\r\n%b" % (head, len(body), body, end) if body else head + end
        return head + body


def decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Decode headers, with lower-case names."""
    pairs = header_pairs(headers)
    return tuple([name for name, _ in pairs]), tuple([value for _, value in pairs])


@lru_cache(maxsize=256)
def plan_framing(
    names: tuple[str, ...],
    status: int,
    has_length: bool,
    keep_alive: bool,
    method: str,
    http_version: str,
    said: tuple[str, ...] = (),
) -> AnswerFraming:
    """Plan the framing of an answer with these headers, after which the length of the body follows if `has_length`.

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
    return AnswerFraming(template, framing, int(framed_by.get("content-length", 0)), keep_alive, framing_at)


def encode_text(status: int, text: str) -> bytes:
    """Encode a plain-text answer after which the connection is closed."""
    head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
    return STATUS_LINES[status] + head.encode() + text.encode()
