"""WebSockets over ASGI: each event of a session is one text message; a refused upgrade is answered over HTTP."""

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
"""The close code of a connection that ends normally."""

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
    """uvicorn's protocol with less logging, as a client's mistakes are no errors of the server.

    Text that is not valid UTF-8 reaches the app as bytes, so that the app can refuse it in the API's words.
    """

    async def send(self, message: Any) -> None:
        """Send a message of the app, and mark the handshake as done after a refused upgrade."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the client; an upgrade that the WebSocket library cannot parse is refused.

        An upgrade arrives in one piece. The library stays silent if it has a body, or more or longer headers than it
        accepts, and raises an exception if the handshake is not ASCII.
        """
        if self.handshake_initiated or _is_ascii_handshake(data):
            super().data_received(data)
        if not self.handshake_initiated:
            self.transport.write(NOT_AN_UPGRADE)
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection unless it is closing already, when no close frame may be sent."""
        if not self.transport.is_closing():
            super().shutdown()

    def send_receive_event_to_app(self) -> None:
        """Pass a complete message to the app."""
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
    """A `SocketSession`, or a stand-in whose events must be awaited."""

    closed: bool
    delivery: Delivery | None

    def receive(self, message: str | bytes, *, edge: EdgeRecord | None) -> Sequence[Json] | Awaitable[Sequence[Json]]:
        """Return the server's events for one message of the client; `edge` records how they are sent."""


async def serve_session(session: Session, receive: Receive, send: Send, connection: int = 0) -> None:
    """Accept the connection and answer its messages until either side closes it; `connection` is its number."""
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
        await asyncio.sleep(0)  # lets other connections have a turn while one sends without a pause


async def _send_event(edge: EdgeRecord, send: Send, event: Json) -> None:
    text = orjson.dumps(event)
    await send({"type": "websocket.send", "text": text.decode()})
    edge.add_part(len(text), time())
    edge.add_events(edge.sent_events + 1)


@contextmanager
def _noting_departure(edge: EdgeRecord) -> Iterator[None]:
    """Record that the client has left if sending fails."""
    try:
        yield
    except OSError:  # raised by uvicorn once the client has left
        edge.end(left_at=time())
        raise


async def refuse_upgrade(answer: Answer, send: Send) -> None:
    """Answer an upgrade with a plain HTTP response, whose body may be bytes."""
    body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
    headers = encode_headers(answer.headers.items())
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
