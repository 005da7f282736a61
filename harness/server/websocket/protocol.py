"""WebSockets over ASGI: a session's events go out as text messages, one each; a refused upgrade is answered as HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from time import time
from typing import Any, Protocol

import orjson
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from harness.core.delivery import Delivery
from harness.core.edge import EdgeRecord
from harness.core.exchange import Answer, Json
from harness.core.headers import encode_headers
from harness.server.transport.asgi_types import Message, Receive, Send
from harness.server.transport.deliver import send_events

CLOSE_NORMAL = 1000
"""The code with which a connection is closed that has come to its end."""

_WHY_NOT = (
    b"This request cannot become a WebSocket: it has a body, a header of more than 8 kB, more than 128 headers, "
    b"or an address or a header of the handshake that is not ASCII."
)
_HANDSHAKE_HEADERS = (b"connection:", b"upgrade:", b"sec-websocket-")
NOT_AN_UPGRADE = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_WHY_NOT), _WHY_NOT)
)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which logs less: what a client does wrong is no error of the server.

    A text that is no UTF-8 reaches the app as bytes, and the app says so in the API's words.
    """

    async def send(self, message: Any) -> None:
        """Send a message of the app; an upgrade that is refused is dealt with, too."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; an upgrade that the library of WebSockets does not read is refused.

        It comes whole, and the library stays silent when it has a body, or more or longer headers than it takes; what is
        not ASCII in the handshake raises in it.
        """
        if self.handshake_initiated or _is_ascii_handshake(data):
            super().data_received(data)
        if not self.handshake_initiated:
            self.transport.write(NOT_AN_UPGRADE)
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection; over one that is being closed, no closing frame may go out."""
        if not self.transport.is_closing():
            super().shutdown()

    def send_receive_event_to_app(self) -> None:
        """Hand over a whole message."""
        if self.curr_msg_data_type == "text" and not _is_utf8(b"".join(self.frames)):
            self.curr_msg_data_type = "bytes"
        super().send_receive_event_to_app()


def _is_ascii_handshake(head: bytes) -> bool:
    """Return whether the first line of an upgrade and its handshake headers are ASCII."""
    start, *headers = head.split(b"\r\n")
    return start.isascii() and all(header.isascii() for header in headers if header.startswith(_HANDSHAKE_HEADERS))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class Session(Protocol):
    """A `SocketSession`, or what stands for one whose events have to be waited for."""

    closed: bool
    delivery: Delivery | None

    def receive(self, message: str | bytes, *, edge: EdgeRecord | None) -> Sequence[Json] | Awaitable[Sequence[Json]]:
        """Return the server's events for one message of the client; `edge` notes how they go out."""


async def serve_session(session: Session, receive: Receive, send: Send, connection: int = 0) -> None:
    """Accept the connection, answer its messages until one side leaves; `connection` is its number."""
    await send({"type": "websocket.accept"})
    early: list[Message] = []
    while (message := early.pop(0) if early else await receive())["type"] == "websocket.receive":
        text = message.get("text")
        edge = EdgeRecord(time(), connection)
        received = session.receive(message["bytes"] if text is None else text, edge=edge)
        edge.stream = events = await received if isawaitable(received) else received
        with _noting_departure(edge):
            if delivery := session.delivery:
                early += await send_events(events, delivery, receive, partial(_send_event, edge, send))
                if delivery.disconnects:
                    edge.end()
                    return  # uvicorn closes the connection without a closing frame
            else:
                for event in events:
                    await _send_event(edge, send, event)
            edge.end(whole=edge.sent_events == len(events))
        if delivery:
            continue
        if session.closed:
            await send({"type": "websocket.close", "code": CLOSE_NORMAL})
            return
        await asyncio.sleep(0)  # other connections have their turn while one sends without a pause


async def _send_event(edge: EdgeRecord, send: Send, event: Json) -> None:
    text = orjson.dumps(event)
    await send({"type": "websocket.send", "text": text.decode()})
    edge.add_part(len(text), time())
    edge.add_events(edge.sent_events + 1)


@contextmanager
def _noting_departure(edge: EdgeRecord) -> Iterator[None]:
    """Note that the client has left when what is sent does not reach it any more."""
    try:
        yield
    except OSError:  # what uvicorn raises then
        edge.end(left_at=time())
        raise


async def refuse_upgrade(answer: Answer, send: Send) -> None:
    """Answer an upgrade with a plain HTTP response, whose body may be bytes."""
    body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
    headers = encode_headers(answer.headers.items())
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
