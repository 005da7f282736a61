"""Recorded interactions, each made in a line."""

from __future__ import annotations

import json
from typing import Any

from harness.cassettes.format.interaction import Interaction

URI = "https://api.openai.com/v1/responses"
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def compact(value: Any) -> bytes:
    """JSON as most clients send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def sse(*events: dict[str, Any]) -> bytes:
    """Events on the wire."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), compact(event)) for event in events)


def over_http(
    request: Any = None, answer: Any = None, *, status: int = 200, uri: str = URI, **members: Any
) -> Interaction:
    """A `POST /responses` with JSON on both sides."""
    body = b"" if request is None else compact(request)
    chunks = () if answer is None else ((0.25, compact(answer)),)
    plain = {"headers": JSON, "answer_headers": JSON, "chunks": chunks, "reason": "OK", **members}
    return Interaction("POST", uri, body=body, status=status, **plain)


def streamed(*chunks: bytes, request: Any = None, **members: Any) -> Interaction:
    """A stream in these chunks, a tenth of a second apart."""
    timed = tuple((number / 10, chunk) for number, chunk in enumerate(chunks, 1))
    return over_http(request, answer_headers=STREAM, chunks=timed, **members)


def socket(*frames: tuple[str, Any]) -> Interaction:
    """A WebSocket with frames of `client` and `server`."""
    timed = tuple((number / 10, side, compact(event).decode()) for number, (side, event) in enumerate(frames, 1))
    return Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=timed)
