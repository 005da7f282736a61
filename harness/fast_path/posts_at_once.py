"""Answers complete POSTs in the event loop iteration in which they arrive, without a task and without ASGI.

A head that was seen before is not parsed again, whatever the length of its body. Everything else goes through ASGI:
large and slow requests, other methods, upgrades, HTTP/1.0, answers that are long, delayed or cut, and clients that do
not read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from time import time
from typing import Any, NamedTuple

import httptools

from harness.answers.encode import encode_body
from harness.core.delivery import EdgeRecord
from harness.core.exchange import Answer, OnDisk
from harness.core.headers import ENCODING
from harness.fast_path.frames import encode_stream
from harness.fast_path.repeat_cache import RepeatCache

LONGEST = 64 * 1024
"""Size limit, in bytes, of bodies that are read here."""
_START = b"POST /"
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: (0|[1-9]\d{0,7})\r\n", re.IGNORECASE)
_PLAIN_PATH = re.compile(rb"/[\w./~-]*")
MOST_WRITTEN = 64 * 1024
"""Size limit, in bytes, of bodies that are written at once."""
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
_INVALID = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
"""Matches characters that no header may contain."""


class PostHead(NamedTuple):
    """The head of a POST: path, headers by lower-case name, size of the body in bytes."""

    path: str
    headers: Mapping[str, str]
    body_size: int


class PostReader:
    """Reads complete POSTs from all connections of a server; the previous head is compared first, without a search."""

    def __init__(self) -> None:
        self._known: RepeatCache[tuple[bytes, bytes], PostHead] = RepeatCache()
        self._last: tuple[bytes, PostHead] | None = None

    def read(self, data: bytes, start: int = 0) -> tuple[PostHead, bytes, int] | None:
        """Read the POST that begins at `start`; return the head, the body and the end position.

        None for anything else, and for POSTs that are incomplete or in any way unusual.
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
        """Parse a head, and cache one that occurs again by the bytes around the length of its body."""
        head = parse_head(head_bytes)
        if head and self._known.has_seen(around_length):
            self._known.put(around_length, head, len(head_bytes))
        return head


class _Unfit(Exception):
    """Raised inside the parser for anything unusual."""


class _HeadParts:
    """The parts of a head, as reported by the parser."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[bytes, bytes] = {}

    def parse(self, head: bytes) -> None:
        """Parse the bytes of a head."""
        self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(head)
        finally:
            del self._parser  # it refers back, and a head of a new key would leave garbage that only a collection frees

    def on_url(self, url: bytes) -> None:
        """Append a part of the URL."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; a repeated one is unusual."""
        lower = name.lower()
        if lower in self.headers:
            raise _Unfit
        self.headers[lower] = value

    def on_headers_complete(self) -> None:
        """Check that the request is usual: HTTP/1.1 with keep-alive, no upgrade, no `Expect`, a plain path."""
        parser = self._parser
        is_usual = parser.get_http_version() == "1.1" and parser.should_keep_alive() and not parser.should_upgrade()
        if not is_usual or b"expect" in self.headers or not _PLAIN_PATH.fullmatch(self.url):
            raise _Unfit


def parse_head(head: bytes) -> PostHead | None:
    """Parse the head of a POST; None if it is unusual."""
    parts = _HeadParts()
    try:
        parts.parse(head)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    headers = {name.decode(ENCODING): value.decode(ENCODING) for name, value in parts.headers.items()}
    return PostHead(parts.url.decode(), headers, int(headers["content-length"]))


class Awaited(NamedTuple):
    """An answer that is not ready yet: `read` returns it once `done` has completed."""

    done: asyncio.Future[Any]
    read: Callable[[], Answer]


AnswerPost = Callable[[str, Mapping[str, str], bytes, EdgeRecord], Answer | Awaited | None]
"""Answers a POST by its path, headers and body, with its edge record; None if only ASGI can."""
SendMade = Callable[..., Awaitable[None]]
"""Sends an answer through ASGI."""


class ReadyAnswer(NamedTuple):
    """An answer that can be written now: its status, and in parts everything after the headers that all answers share.

    `end` is where the request ends in the received bytes.
    """

    end: int
    status: int
    rest: tuple[bytes, ...]
    edge: EdgeRecord


class LateAnswer(NamedTuple):
    """An answer that an ASGI app has to wait for, or to send in parts."""

    end: int
    head: PostHead
    app: Callable[..., Awaitable[None]]
    edge: EdgeRecord


class PostsAtOnce:
    """Answers the POSTs of all connections of a server; `send_made` sends answers that cannot be written at once."""

    def __init__(self, answer_post: AnswerPost, send_made: SendMade) -> None:
        self._answer_post = answer_post
        self._send_made = send_made
        self._reader = PostReader()

    def answer(self, data: bytes, start: int, connection: int) -> ReadyAnswer | LateAnswer | None:
        """Answer the complete POST that begins at `start`; None for anything that only ASGI can answer.

        `connection` is the number of the connection it arrived on.
        """
        if (post := self._reader.read(data, start)) is None:
            return None
        head, body, end = post
        edge = EdgeRecord(time(), connection)
        try:
            answer = self._answer_post(head.path, head.headers, body, edge)
            if answer is None:
                return None
            if isinstance(answer, Awaited):
                return LateAnswer(end, head, partial(self._send_awaited, answer), edge)
            encoded = encode_whole(answer)
        except Exception as problem:
            return LateAnswer(end, head, partial(_raise, problem), edge)
        if encoded is None:
            return LateAnswer(end, head, partial(self._send_made, answer), edge)
        return ReadyAnswer(end, answer.status, encoded, edge)

    async def _send_awaited(self, awaited: Awaited, *asgi: Any) -> None:
        await asyncio.wait([awaited.done])
        await self._send_made(awaited.read(), *asgi)


async def _raise(problem: Exception, *_: object) -> None:
    """Raise an exception inside the app, so that the server logs it."""
    raise problem


def encode_whole(answer: Answer) -> tuple[bytes, ...] | None:
    """Encode an answer as parts of one write; None if it is too long for that, delayed, cut, or on disk."""
    if answer.delivery is not None or isinstance(answer.body, OnDisk):
        return None
    body = encode_body(answer, encode_stream)
    if len(body) > MOST_WRITTEN or (lines := _encode_lines(answer.headers)) is None:
        return None
    if answer.events is None:
        return lines, b"content-length: %d\r\n\r\n" % len(body), body
    if not body:
        return lines, b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    return lines, b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(body), body, b"\r\n0\r\n\r\n"


def _encode_lines(headers: Mapping[str, str]) -> bytes | None:
    """Encode an answer's header lines; None if a header is invalid or sets the framing.

    Most answers differ only in the last header, the request id.
    """
    if not headers:
        return b""
    *values, last = headers.values()
    lines = _encode_all_but_last(tuple(headers), *values)
    return None if lines is None or _INVALID.search(last) else b"%b%b\r\n" % (lines, last.encode(ENCODING))


@lru_cache(maxsize=64)
def _encode_all_but_last(names: Sequence[str], *values: str) -> bytes | None:
    """Encode header lines up to the value of the last one."""
    if not _FRAMING.isdisjoint(names) or _INVALID.search("".join(values)):
        return None
    return "\r\n".join(map(": ".join, zip(names, (*values, ""), strict=True))).encode(ENCODING)
