"""WebSockets over ASGI: each event of a session is one text message; a refused upgrade is answered over HTTP."""

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from inspect import isawaitable
from itertools import count
from time import time
from typing import Protocol

import orjson

from harness.core.delivery import Delivery, SendRecord
from harness.core.exchange import Answer, Json
from harness.core.headers import encode_headers
from harness.core.limits import COLLECTED_ANSWERS, collect_new_garbage
from harness.server.transport.asgi_types import Message, Receive, Send
from harness.server.transport.deliver import send_events

CLOSE_NORMAL = 1000
"""The close code of a connection that ends normally."""


class Session(Protocol):
    """A `SocketSession`, or a stand-in whose events must be awaited."""

    closed: bool
    delivery: Delivery | None

    def receive(self, message: str | bytes, *, edge: SendRecord | None) -> Sequence[Json] | Awaitable[Sequence[Json]]:
        """Return the server's events for one message of the client; `edge` records how they are sent."""


async def serve_session(session: Session, receive: Receive, send: Send, connection: int = 0) -> None:
    """Accept the connection and answer its messages until either side closes it; `connection` is its number."""
    await send({"type": "websocket.accept"})
    early: list[Message] = []
    for answered in count():
        message = early.pop(0) if early else await receive()
        if message["type"] != "websocket.receive":
            return
        if answered % COLLECTED_ANSWERS == COLLECTED_ANSWERS - 1:
            collect_new_garbage()
        text = message.get("text")
        edge = SendRecord(time(), connection)
        received = session.receive(message["bytes"] if text is None else text, edge=edge)
        edge.stream = events = await received if isawaitable(received) else received
        try:
            if delivery := session.delivery:
                early += await send_events(events, delivery, receive, partial(_send_event, edge, send))
                if delivery.disconnects:
                    edge.end()
                    return  # the connection is closed without a closing frame
            else:
                for event in events:
                    await _send_event(edge, send, event)
            edge.end(whole=edge.sent_events == len(events))
        except OSError:  # raised by `send` once the client has left
            edge.end(left_at=time())
            raise
        if delivery:
            continue
        if session.closed:
            await send({"type": "websocket.close", "code": CLOSE_NORMAL})
            return
        await asyncio.sleep(0)  # lets other connections have a turn while one sends without a pause


async def _send_event(edge: SendRecord, send: Send, event: Json) -> None:
    text = orjson.dumps(event)
    await send({"type": "websocket.send", "text": text.decode()})
    edge.add_part(len(text), time())
    edge.add_events(edge.sent_events + 1)


async def refuse_upgrade(answer: Answer, send: Send) -> None:
    """Answer an upgrade with a plain HTTP response, whose body may be bytes."""
    body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
    headers = encode_headers(answer.headers.items())
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
