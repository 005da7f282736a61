"""Complete answers over ASGI, in as few writes as it takes.

A stream goes out at once, too: one send per event costs five times as much.
"""

from __future__ import annotations

import asyncio

from harness.answers.encode import encode_body, encode_events
from harness.core.exchange import Answer
from harness.core.headers import encode_headers
from harness.core.stored_content import StoredContent
from harness.fast_path import is_enabled
from harness.fast_path.frames import encode_stream
from harness.server.transport.asgi_types import EVENTS, Receive, Send
from harness.server.transport.faulty_delivery import deliver_answer

WRITE_SIZE = 64 * 1024
EVENT_END = b"\n\n"
READ_SIZE = 1 << 20
"""Bytes of a file on disk that are read at once."""


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
    body = encode_body(answer, encode_stream if is_enabled() else encode_events)
    headers = encode_headers(answer.headers.items())
    if answer.events is None:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    last = max(0, len(body) - 1) // WRITE_SIZE * WRITE_SIZE
    events = 0
    for start in range(0, last, WRITE_SIZE):
        piece = body[start : start + WRITE_SIZE]
        events += 0 if answer.events is None else piece.count(EVENT_END)
        await send({"type": "http.response.body", "body": piece, "more_body": True, EVENTS: events})
    await send({"type": "http.response.body", "body": body[last:]})


async def _send_stored(send: Send, answer: Answer, content: StoredContent) -> None:
    """Send the bytes of a file that is not in memory, piece by piece."""
    headers = [*encode_headers(answer.headers.items()), (b"content-length", str(content.size).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for start in range(0, content.size, READ_SIZE):
        piece = await asyncio.to_thread(content.read, start, READ_SIZE)
        await send({"type": "http.response.body", "body": piece, "more_body": start + READ_SIZE < content.size})
