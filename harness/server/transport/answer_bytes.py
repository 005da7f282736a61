"""Complete answers as bytes: over ASGI in as few writes as it takes, or with their head as HTTP/1.1 has them.

A stream goes out at once, too: one send per event costs five times as much.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from harness.answers.sse import encode_events
from harness.core.exchange import Answer
from harness.core.headers import ENCODING, encode_headers
from harness.core.stored_content import StoredContent
from harness.fast_path import is_enabled
from harness.fast_path.frames import encode_stream
from harness.server.transport.faulty_delivery import Receive, Send, deliver_answer

WRITE_SIZE = 64 * 1024
READ_SIZE = 1 << 20
"""Bytes of a file on disk that are read at once."""
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
_INVALID = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
"""What no header may hold; uvicorn says so."""


async def carry_out(answer: Answer, receive: Receive, send: Send) -> bool:
    """Send an answer, whole or as its delivery says; False when the client leaves meanwhile."""
    if answer.delivery is not None:
        return await deliver_answer(answer, answer.delivery, receive, send)
    await send_answer(send, answer)
    return True


async def send_answer(send: Send, answer: Answer) -> None:
    """Send a complete answer at once."""
    if isinstance(answer.body, StoredContent):
        await _send_stored(send, answer, answer.body)
        return
    body = _encode_body(answer)
    headers = encode_headers(answer.headers.items())
    if answer.events is None:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    last = max(0, len(body) - 1) // WRITE_SIZE * WRITE_SIZE
    for start in range(0, last, WRITE_SIZE):
        await send({"type": "http.response.body", "body": body[start : start + WRITE_SIZE], "more_body": True})
    await send({"type": "http.response.body", "body": body[last:]})


async def _send_stored(send: Send, answer: Answer, content: StoredContent) -> None:
    """Send the bytes of a file that is not in memory, piece by piece."""
    headers = [*encode_headers(answer.headers.items()), (b"content-length", str(content.size).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for start in range(0, content.size, READ_SIZE):
        piece = await asyncio.to_thread(content.read, start, READ_SIZE)
        await send({"type": "http.response.body", "body": piece, "more_body": start + READ_SIZE < content.size})


def encode_whole(answer: Answer, first_headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """An answer of HTTP/1.1 with its head; None if it is too long for one write, is delayed or cut, or frames itself."""
    if answer.delivery is not None or isinstance(answer.body, StoredContent):
        return None
    if len(body := _encode_body(answer)) > WRITE_SIZE:
        return None
    if (lines := _encode_lines(answer.headers)) is None:
        return None
    head = STATUS_LINE[answer.status], _encode_first(tuple(first_headers)), lines
    if answer.events is None:
        return b"%b%b%bcontent-length: %d\r\n\r\n%b" % (*head, len(body), body)
    if not body:
        return b"%b%b%btransfer-encoding: chunked\r\n\r\n0\r\n\r\n" % head
    return b"%b%b%btransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (*head, len(body), body)


@lru_cache(maxsize=8)
def _encode_first(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def _encode_lines(headers: Mapping[str, str]) -> bytes | None:
    """The lines of an answer's headers; None if one of them frames the answer or is none.

    Most answers differ only in the last one, the request's id.
    """
    if not headers:
        return b""
    *values, last = headers.values()
    lines = _encode_all_but_last(tuple(headers), *values)
    return None if lines is None or _INVALID.search(last) else b"%b%b\r\n" % (lines, last.encode(ENCODING))


@lru_cache(maxsize=64)
def _encode_all_but_last(names: Sequence[str], *values: str) -> bytes | None:
    """The lines of headers up to the value of the last one."""
    if not _FRAMING.isdisjoint(names) or _INVALID.search("".join(values)):
        return None
    return "\r\n".join(map(": ".join, zip(names, (*values, ""), strict=True))).encode(ENCODING)


def _encode_body(answer: Answer) -> bytes:
    """A body as it goes out: the events of a stream, else JSON, unless it is the bytes of a file."""
    if answer.events is not None:
        return encode_stream(answer.events) if is_enabled() else encode_events(answer.events)
    body: Any = answer.body
    return body if isinstance(body, bytes) else orjson.dumps(body)
