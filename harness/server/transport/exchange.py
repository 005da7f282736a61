"""One request and its answer, between a connection and an ASGI app."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum, auto
from time import time

from harness.core.delivery import EdgeRecord
from harness.server.transport.asgi_types import EVENTS, AsgiApp, Message, Scope
from harness.server.transport.framing import CONTINUE, AnswerFraming, Headers


class FlowControl:
    """Applies back-pressure in both directions: pauses reading from a transport, and makes writers wait for a full one.

    `is_writing_paused` is true while the client has not read enough of what was written.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self.is_reading_paused = self.is_writing_paused = False

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        if self.is_reading_paused:
            self.is_reading_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Make writers wait in `drain`."""
        self.is_writing_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        """Wake the tasks that wait for the socket's buffer to drain."""
        self.is_writing_paused = False
        self._writable.set()

    async def drain(self) -> None:
        """Wait until the transport can take more."""
        await self._writable.wait()


MOST_UNREAD = 64 * 1024
"""Bytes of a body that the app has not asked for, beyond which reading is paused."""
OnFailed = Callable[[Scope, BaseException], None]
"""Hears that an app has not answered the request of a scope, and why."""
FAULT = b"Internal Server Error"
_LOGGER = logging.getLogger("uvicorn.error")


class AnswerState(Enum):
    """The progress of an answer.

    PENDING ──head──> STARTED ──last part──> COMPLETE
       └──the client leaves──┴──> ABANDONED   (further parts are dropped)
    """

    PENDING = auto()
    STARTED = auto()
    COMPLETE = auto()
    ABANDONED = auto()


PENDING, STARTED, COMPLETE, ABANDONED = AnswerState


class AsgiExchange:
    """A request and its answer; `is_body_whole` says whether the request has arrived in full.

    `on_complete` is called once the answer is sent, `on_failed` with the scope and the reason if the app does not answer;
    `edge` records how it was sent. To break off the connection, use
    the `transport` of the object that `send` is bound to.
    """

    def __init__(
        self,
        scope: Scope,
        framing: AnswerFraming,
        transport: asyncio.Transport,
        flow: FlowControl,
        first_headers: Headers,
        on_complete: Callable[[], None],
        edge: EdgeRecord,
        *,
        on_failed: OnFailed,
        expects_continue: bool,
    ) -> None:
        self.scope = scope
        self.framing = framing
        self.transport = transport
        self.state = PENDING
        self.is_body_whole = False
        self.edge = edge
        self._on_failed = on_failed
        self._flow = flow
        self._first_headers = first_headers
        self._on_complete = on_complete
        self._expects_continue = expects_continue
        self._body = bytearray()
        self._news = asyncio.Event()

    def add_body(self, body: bytes) -> None:
        """Buffer a part of the request's body for the app."""
        if self.state is not COMPLETE:
            self._body += body
            if len(self._body) > MOST_UNREAD:
                self._flow.pause_reading()
            self._news.set()

    def end_body(self) -> None:
        """Handle the end of the request."""
        self.is_body_whole = True
        self._news.set()

    def abandon(self) -> None:
        """Handle the client's disconnect."""
        if self.state is not COMPLETE:
            self.state = ABANDONED
            self.edge.end(left_at=time())
        self._news.set()

    async def run(self, app: AsgiApp) -> None:
        """Run the app; an exception is logged, and answered with 500 unless an answer has begun."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:  # the server is stopping
            return
        except BaseException as problem:
            await self._fail("Exception in ASGI application\n", problem)
            return
        if self.state is PENDING:
            await self._fail("ASGI callable returned without starting response.")
        elif self.state is STARTED:
            await self._fail("ASGI callable returned without completing response.")

    async def _fail(self, text: str, problem: BaseException | None = None) -> None:
        _LOGGER.error(text, exc_info=problem)
        if self.state in (PENDING, STARTED):
            self._on_failed(self.scope, problem or RuntimeError(text))
        if self.state is PENDING:
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(FAULT)).encode()),
                (b"connection", b"close"),
            ]
            await self.send({"type": "http.response.start", "status": 500, "headers": headers})
            await self.send({"type": "http.response.body", "body": FAULT})
        else:
            self.edge.end()
            self.transport.close()

    async def receive(self) -> Message:
        """Wait for more of the request, and return what has arrived since the last call."""
        if self._expects_continue and not self.transport.is_closing():
            # Only now: an app that answers without reading the body spares the client the upload.
            self.transport.write(CONTINUE)
            self._expects_continue = False
        if not self._has_ended:
            self._flow.resume_reading()
            await self._news.wait()
            self._news.clear()
        if self._has_ended:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self.is_body_whole}

    @property
    def _has_ended(self) -> bool:
        return self.state is COMPLETE or self.state is ABANDONED

    async def send(self, message: Message) -> None:
        """Send the head or a part of the answer's body, once the client has read enough of the earlier parts."""
        if self._flow.is_writing_paused and self.state is not ABANDONED:
            await self._flow.drain()
        if self.transport.is_closing():  # the connection learns of it only later
            self.abandon()
        if self.state is ABANDONED:
            return
        kind = message["type"]
        if self.state is PENDING and kind == "http.response.start":
            self._send_head(message["status"], message.get("headers", ()))
        elif self.state is STARTED and kind == "http.response.body":
            self._send_part(message.get("body", b""), more=message.get("more_body", False))
            if EVENTS in message:
                self.edge.add_events(message[EVENTS])
        else:
            raise RuntimeError(f"Unexpected ASGI message {kind!r} for an answer that is {self.state.name}.")

    def _send_head(self, status: int, headers: Headers) -> None:
        self.state, self._expects_continue = STARTED, False
        self._write(self.framing.encode_head(status, [*self._first_headers, *headers]))

    def _write(self, data: bytes) -> None:
        self.transport.write(data)
        self.edge.add_part(len(data), time())

    def _send_part(self, body: bytes, *, more: bool) -> None:
        if encoded := self.framing.encode_part(body, more=more):
            self._write(encoded)
        if more:
            return
        if self.framing.is_short:
            raise RuntimeError("Response content shorter than Content-Length")
        self.state = COMPLETE
        self.edge.end(whole=True)
        self._news.set()
        if not self.framing.keep_alive:
            self.transport.close()
        self._on_complete()
