"""The bytes of a WebSocket: frames of the client become ASGI messages, and messages of the app become frames.

    CONNECTING ──app accepts──> OPEN ──either side closes──> CLOSING ──client's close, or CLOSE_SECONDS──> connection ends
         └──app refuses, or the handshake is invalid: an HTTP response──────────────────────────────────────────┘

One message of the client is read at a time; the next one is read once the app has taken it.
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, cast

from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from harness.core.headers import header_pairs
from harness.server.transport.asgi_types import Message, Scope
from harness.server.transport.framing import PHRASES, encode_text

CLOSE_SECONDS = 10.0
"""Seconds that a client has to answer a closing frame."""
PING_SECONDS = 20.0
"""Seconds between two pings, and those a client has to answer one."""
SERVICE_RESTART, INTERNAL_ERROR, NO_CODE, ABNORMAL = 1012, 1011, 1005, 1006
_LOGGER = logging.getLogger("uvicorn.error")
NOT_AN_UPGRADE = encode_text(
    HTTPStatus.BAD_REQUEST,
    "This request cannot become a WebSocket: it has a body, a header of more than 8 kB, more than 128 headers, "
    "or an address or a header of the handshake that is not ASCII.",
)
_HANDSHAKE_HEADERS = (b"connection:", b"upgrade:", b"sec-websocket-")


class _ClientLeft(OSError):
    """Raised by `send` once the client has left; ASGI wants an OSError."""


class SocketState(Enum):
    """The state of a WebSocket; the module draws it."""

    CONNECTING = auto()
    OPEN = auto()
    CLOSING = auto()


CONNECTING, OPEN, CLOSING = SocketState


class WebSocketProtocol(asyncio.Protocol):
    """One client's WebSocket; uvicorn creates it through its `ws` option.

    Text that is not valid UTF-8 reaches the app as bytes, so that the app can refuse it in the API's words.
    """

    def __init__(self, config: Any, server_state: Any, scope: Scope) -> None:
        self.state = CONNECTING
        self._app, self._scope, self._server_state = config.loaded_app, scope, server_state
        self._loop = asyncio.get_running_loop()
        self._frames = ServerProtocol(max_size=config.ws_max_size, logger=_LOGGER)
        self._received: deque[Message] = deque()
        self._has_received, self._writable = asyncio.Event(), asyncio.Event()
        self._writable.set()
        self._handshake: Response | None = None
        self._refusal: tuple[int, Headers] | None = None
        self._parts: list[bytes] = []
        self._early = b""
        self._is_text = self._is_lost = False
        self._ping = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        self.transport = cast("asyncio.Transport", transport)
        self._server_state.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell the app that the client has left."""
        self._server_state.connections.discard(self)
        self._is_lost = True
        self._set_timer(None)
        self._frames.parser.close()  # a generator that refers back: only a collection of old objects would free it
        self._writable.set()  # asyncio does not resume a transport that is lost while paused
        self._put({"type": "websocket.disconnect", "code": ABNORMAL if self.state is CONNECTING else NO_CODE})

    def pause_writing(self) -> None:
        """Stop sending to a client that does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume sending."""
        self._writable.set()

    def eof_received(self) -> None:
        """Let the connection close."""

    def shutdown(self) -> None:
        """Close the connection; a client whose transport is closing already can be sent nothing."""
        if self.transport.is_closing():
            return
        if self.state is OPEN:
            self._put({"type": "websocket.disconnect", "code": SERVICE_RESTART})
            self._frames.send_close(SERVICE_RESTART)
            self._flush()
        elif self.state is CONNECTING and self._refusal is None:
            self._respond(self._frames.reject(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal Server Error"))
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the client; an upgrade that the library cannot parse is refused.

        An upgrade arrives in one piece; what follows waits until the app has accepted it. The library stays silent if it
        has a body, or more or longer headers than it accepts, and raises an exception if the handshake is not ASCII.
        """
        if self._handshake and self.state is CONNECTING:
            self._early += data
            return
        if self._handshake or _is_ascii_handshake(data):
            self._frames.receive_data(data)
            for event in self._frames.events_received():
                if isinstance(event, Request):
                    self._connect(event)
                else:
                    self._take_frame(cast("Frame", event))
            if self._handshake and self._frames.parser_exc is not None and not self.transport.is_closing():
                self._end(self._frames.close_sent.code if self._frames.close_sent else ABNORMAL)
        if self._handshake is None:
            self.transport.write(NOT_AN_UPGRADE)
            self.transport.close()

    def _connect(self, request: Request) -> None:
        """Run the app for a valid handshake, and refuse an invalid one."""
        self._handshake = self._frames.accept(request)
        if self._handshake.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._respond(self._handshake)
            return
        offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol")).split(",")
        self._scope["subprotocols"] = [name.strip() for name in offered if name.strip()]
        self._put({"type": "websocket.connect"})
        task = self._loop.create_task(self._run())
        task.add_done_callback(self._server_state.tasks.discard)
        self._server_state.tasks.add(task)

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self.receive, self.send)
        except _ClientLeft:
            pass
        except Exception:
            _LOGGER.exception("Exception in ASGI application\n")
        if self.state is not CLOSING:
            self.shutdown() if self.state is CONNECTING else self._close_after_flush()

    def _take_frame(self, frame: Frame) -> None:
        """Handle a frame: a part of a message, or a control frame, whose answer the library has prepared."""
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            if frame.opcode is not Opcode.CONT:
                self._is_text, self._parts = frame.opcode is Opcode.TEXT, []
            self._parts.append(bytes(frame.data))
            if frame.fin and self.state is not CLOSING:
                self._put(_to_message(b"".join(self._parts), self._is_text))
                self.transport.pause_reading()
        elif frame.opcode is Opcode.CLOSE:
            self._end(self._frames.close_rcvd.code if self._frames.close_rcvd else NO_CODE)
        elif frame.opcode is Opcode.PING:
            self._flush()
        elif self.state is OPEN and bytes(frame.data) == self._ping:
            self._set_timer(PING_SECONDS, self._send_ping)

    def _end(self, code: int) -> None:
        """End the connection after the last frame that the library has prepared."""
        if self.state is not CLOSING:
            self._put({"type": "websocket.disconnect", "code": code})
        self._close_after_flush()

    def _close_after_flush(self) -> None:
        """Send what the library has prepared and close, also if the client does not read it."""
        self.state = CLOSING
        self._flush()
        self.transport.close()
        self._set_timer(CLOSE_SECONDS, self.transport.abort)

    def _send_ping(self) -> None:
        self._ping = os.urandom(4)
        self._frames.send_ping(self._ping)
        self._flush()
        self._set_timer(PING_SECONDS, self._miss_pong)

    def _miss_pong(self) -> None:
        if self._received:  # nothing is read meanwhile, so the pong may have come
            self._set_timer(PING_SECONDS, self._miss_pong)
            return
        self._frames.fail(INTERNAL_ERROR, "keepalive ping timeout")
        self._end(INTERNAL_ERROR)

    def _set_timer(self, seconds: float | None, call: Callable[[], object] = lambda: None) -> None:
        """Replace the only timer: of the next ping, of a missing pong, or of a closing handshake that takes too long."""
        if self._timer:
            self._timer.cancel()
        self._timer = None if seconds is None or self._is_lost else self._loop.call_later(seconds, call)

    def _put(self, message: Message) -> None:
        self._received.append(message)
        self._has_received.set()

    def _flush(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"".join(self._frames.data_to_send()))

    def _respond(self, response: Response) -> None:
        self._frames.send_response(response)
        self._close_after_flush()

    async def receive(self) -> Message:
        """Return the next message of the client, and read on once none is left."""
        while not self._received:
            self._has_received.clear()
            await self._has_received.wait()
        message = self._received.popleft()
        if not self._received and not self.transport.is_closing():
            self.transport.resume_reading()
        return message

    async def send(self, message: Message) -> None:
        """Send a message of the app; OSError once the client has left."""
        await self._writable.wait()
        kind = message["type"]
        if self._is_lost or (self.state is CLOSING and kind != "websocket.http.response.body"):
            raise _ClientLeft
        if kind == "websocket.http.response.start":
            self._refusal = message["status"], Headers(header_pairs(message.get("headers", ())))
        elif kind == "websocket.http.response.body":
            self._refuse(message.get("body", b""))
        elif kind == "websocket.accept":
            self._accept(message)
        elif self.state is CONNECTING:
            self._respond(self._frames.reject(HTTPStatus.FORBIDDEN, ""))
        else:
            self._send_frame(message)

    def _accept(self, message: Message) -> None:
        assert self._handshake
        del self._handshake.headers["Date"]
        self._handshake.headers.update(header_pairs((*self._server_state.default_headers, *message.get("headers", ()))))
        if subprotocol := message.get("subprotocol"):
            self._handshake.headers["Sec-WebSocket-Protocol"] = subprotocol
        self.state = OPEN
        self._frames.send_response(self._handshake)
        self._flush()
        self._set_timer(PING_SECONDS, self._send_ping)
        early, self._early = self._early, b""
        if early:
            self.data_received(early)

    def _refuse(self, body: bytes) -> None:
        assert self._refusal
        status, headers = self._refusal
        headers.setdefault("Date", formatdate(usegmt=True))
        headers.setdefault("Connection", "close")
        headers.setdefault("Content-Length", str(len(body)))
        headers.setdefault("Content-Type", "text/plain; charset=utf-8")
        self._respond(Response(status, PHRASES.get(status, ""), headers, body))

    def _send_frame(self, message: Message) -> None:
        try:
            if message["type"] == "websocket.close":
                self._frames.send_close(message.get("code", 1000), message.get("reason") or "")
                self.state = CLOSING
                self._set_timer(CLOSE_SECONDS, self._close_after_flush)
                self.transport.resume_reading()
            elif (text := message.get("text")) is not None:
                self._frames.send_text(text.encode())
            else:
                self._frames.send_binary(message["bytes"])
        except InvalidState:
            raise _ClientLeft from None
        self._flush()


def _to_message(data: bytes, is_text: bool) -> Message:
    try:
        return {"type": "websocket.receive", **({"text": data.decode()} if is_text else {"bytes": data})}
    except UnicodeDecodeError:
        return {"type": "websocket.receive", "bytes": data}


def _is_ascii_handshake(head: bytes) -> bool:
    start, *headers = head.split(b"\r\n")
    return start.isascii() and all(header.isascii() for header in headers if header.startswith(_HANDSHAKE_HEADERS))
