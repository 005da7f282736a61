"""Answers as the bytes that follow a status line and the first headers of a server: the other headers and the body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from harness.answers.body import encode_body
from harness.core.exchange import Answer
from harness.core.headers import ENCODING
from harness.core.stored_content import StoredContent
from harness.fast_path.frames import encode_stream

MOST_WRITTEN = 64 * 1024
"""Bytes of the longest body that is written at once."""
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
_INVALID = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
"""What no header may hold."""


def encode_whole(answer: Answer) -> tuple[bytes, ...] | None:
    """Encode an answer as parts of one write; None if it is too long for that, is delayed or cut, or frames itself."""
    if answer.delivery is not None or isinstance(answer.body, StoredContent):
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
    """Encode the lines of an answer's headers; None if a header frames the answer or is invalid.

    Most answers differ only in the last one, the request's id.
    """
    if not headers:
        return b""
    *values, last = headers.values()
    lines = _encode_all_but_last(tuple(headers), *values)
    return None if lines is None or _INVALID.search(last) else b"%b%b\r\n" % (lines, last.encode(ENCODING))


@lru_cache(maxsize=64)
def _encode_all_but_last(names: Sequence[str], *values: str) -> bytes | None:
    """Encode the lines of headers up to the value of the last one."""
    if not _FRAMING.isdisjoint(names) or _INVALID.search("".join(values)):
        return None
    return "\r\n".join(map(": ".join, zip(names, (*values, ""), strict=True))).encode(ENCODING)
