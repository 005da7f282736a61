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


def take(asked: Any = None, said: Any = None, *, status: int = 200, uri: str = URI, **members: Any) -> Interaction:
    """A `POST /responses` with JSON on both sides."""
    body = b"" if asked is None else compact(asked)
    answer = () if said is None else ((0.25, compact(said)),)
    made = {"headers": JSON, "answer_headers": JSON, "chunks": answer, "reason": "OK", **members}
    return Interaction("POST", uri, body=body, status=status, **made)


def streamed(*chunks: bytes, asked: Any = None, **members: Any) -> Interaction:
    """A stream in these chunks, a tenth of a second apart."""
    timed = tuple((number / 10, chunk) for number, chunk in enumerate(chunks, 1))
    return take(asked, answer_headers=STREAM, chunks=timed, **members)


def socket(*frames: tuple[str, Any]) -> Interaction:
    """A WebSocket with frames of `client` and `server`."""
    timed = tuple((number / 10, by, compact(event).decode()) for number, (by, event) in enumerate(frames, 1))
    return Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=timed)
