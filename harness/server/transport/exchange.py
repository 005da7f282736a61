"""One request and its answer on a connection.

An answer that is ready and fits one write is written at once. A task sends whatever has to wait:

    the request is whole ──handle──> an answer ──fits one write──> COMPLETE
       │                                └──delayed, cut, long, on disk, or the client does not read──> a task sends it
       └──held by a person, or in turn with other servers──> a task waits for the answer and sends it
    its head has arrived ──for an ASGI app: the control plane, a form──> a task reads its body and sends the answer
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum, auto
from functools import partial
from time import time
from typing import Any, Protocol

from harness.answers.encode import encode_body
from harness.core.delivery import SendRecord
from harness.core.exchange import Answer, OnDisk, ReceivedRequest
from harness.core.limits import MAX_BODY_SIZE
from harness.server.transport.asgi_types import EVENTS, Message, Receive, Scope, Send
from harness.server.transport.framing import (
    CONTINUE,
    AnswerFraming,
    BodyFraming,
    Headers,
    decode_headers,
    plan_framing,
)
from harness.server.transport.request_parser import RequestHead

MOST_UNREAD = 64 * 1024
"""Bytes of a body that an ASGI app has not asked for, beyond which reading is paused."""
MOST_WRITTEN = 64 * 1024
"""Size limit, in bytes, of bodies that are written at once."""
FAULT = b"Internal Server Error"
FAULT_HEADERS = (
    ("content-type", "content-length", "connection"),
    ("text/plain; charset=utf-8", str(len(FAULT)), "close"),
)
_LOGGER = logging.getLogger("uvicorn.error")


class Service(Protocol):
    """Answers requests that have arrived in full; what it does not take goes to the ASGI app."""

    def takes_whole(self, head: RequestHead) -> bool:
        """Return whether `answer` answers a request."""

    def answer(self, received: ReceivedRequest, edge: SendRecord) -> Answer | Awaitable[Answer]:
        """Answer a request, or return what to await for its answer."""

    async def deliver(self, answer: Answer, received: ReceivedRequest, receive: Receive, send: Send) -> None:
        """Send an answer in parts, as its delivery says."""

    def note_failed(self, received: ReceivedRequest, problem: BaseException) -> None:
        """Hear that a request was not answered, or not to its end, and why."""


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


class Connection(Protocol):
    """What the exchanges of a connection share; `first_headers` start every answer."""

    transport: asyncio.Transport
    flow: FlowControl

    @property
    def first_headers(self) -> Headers:
        """The headers that start every answer."""

    def on_answered(self) -> None:
        """Hear that the first exchange is complete."""

    def on_failed(self, received: ReceivedRequest, problem: BaseException) -> None:
        """Report that a request was not answered, or not to its end, and why."""


class HttpExchange:
    """A request and its answer on a connection; `is_body_whole` says whether the request has arrived in full.

    `service` answers it once it has; without one, an ASGI app reads the request. `scope` is its ASGI scope, None
    unless an app answers. `has_task` says whether a task works on the answer. `edge` records how the answer is sent.
    Without `keep_alive` the connection is closed after the answer. To break it off, use the `transport` of the object
    that `send` is bound to.
    """

    state = PENDING
    has_task = False
    is_body_whole = False
    scope: Scope | None = None
    _has_continued = False
    _has_news = False
    _unread = 0
    _arrival: asyncio.Event | None = None
    _framing: AnswerFraming
    _missing = 0

    def __init__(
        self,
        connection: Connection,
        head: RequestHead,
        edge: SendRecord,
        service: Service | None,
        body: bytes | None,
        *,
        keep_alive: bool,
    ) -> None:
        self.transport = connection.transport
        self.head = head
        self.edge = edge
        self.service = service
        self.keep_alive = keep_alive
        self._connection = connection
        self._flow = connection.flow
        self._body: list[bytes] = []
        if body is not None:
            self.is_body_whole = self._has_news = True
            self._body.append(body)

    def add_body(self, body: bytes) -> bool:
        """Buffer a part of the request's body; return whether it is answered now, as nothing more is read of it."""
        if self.is_body_whole or self.state is COMPLETE:
            return False
        self._body.append(body)
        self._unread += len(body)
        if self.service is None:
            if self._unread > MOST_UNREAD:
                self._flow.pause_reading()
            self._signal_arrival()
        elif self._unread > MAX_BODY_SIZE:
            self.is_body_whole = True
        return self.is_body_whole

    def end_body(self) -> None:
        """Handle the end of the request."""
        self.is_body_whole = True
        self._signal_arrival()

    def _signal_arrival(self) -> None:
        self._has_news = True
        if self._arrival:
            self._arrival.set()

    def _read_body(self) -> bytes:
        """Return what has arrived of the body since the last call."""
        parts, self._body, self._unread, self._has_news = self._body, [], 0, False
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def abandon(self) -> None:
        """Handle the client's disconnect."""
        if self.state is not COMPLETE:
            self.state = ABANDONED
            self.edge.end(left_at=time())
        self._signal_arrival()

    def ask_for_body(self) -> None:
        """Tell a client that waits for it to send the body."""
        if self.head.expects_continue and not self._has_continued and not self.transport.is_closing():
            self.transport.write(CONTINUE)
            self._has_continued = True

    def answer(self, service: Service) -> Coroutine[Any, Any, None] | None:
        """Answer a request that has arrived in full, in one write, or return the task that has to answer later."""
        try:
            # Later, there is only the news that the client has left.
            received = self.head.as_received(self._read_body())
            answer = service.answer(received, self.edge)
            written = self._encode_whole(answer) if isinstance(answer, Answer) else None
        except Exception as problem:
            self._fail("Exception in ASGI application\n", problem)
            return None
        if written is None:
            return self.run(partial(self._wait_and_deliver, service, received, answer))
        self._write(written)
        self._complete()
        return None

    def _encode_whole(self, answer: Answer) -> bytes | None:
        """Encode an answer for one write; None if it has to be sent in parts, or frames its body itself."""
        if answer.delivery is not None or isinstance(answer.body, OnDisk) or self._flow.is_writing_paused:
            return None
        body, is_stream = encode_body(answer), answer.events is not None
        if (size := len(body)) > MOST_WRITTEN:
            return None
        (names, values), headers, head = self._connection.first_headers, answer.headers, self.head
        planned = (*names, *headers), answer.status, not is_stream, self.keep_alive, head.method, head.version
        framing = plan_framing(*planned)
        if framing.framing_at:
            return None
        start = framing.encode_head((*values, *headers.values()), None if is_stream else size)
        return framing.encode_part(body, more=False, head=start)

    async def _wait_and_deliver(
        self, service: Service, received: ReceivedRequest, answer: Answer | Awaitable[Answer]
    ) -> None:
        ready = answer if isinstance(answer, Answer) else await answer
        await service.deliver(ready, received, self.receive, self.send)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run what sends the answer; an exception is logged, and answered with 500 unless an answer has begun."""
        try:
            await work()
        except asyncio.CancelledError:  # the server is stopping
            return
        except BaseException as problem:
            self._fail("Exception in ASGI application\n", problem)
            return
        if self.state is PENDING:
            self._fail("ASGI callable returned without starting response.")
        elif self.state is STARTED:
            self._fail("ASGI callable returned without completing response.")

    def _fail(self, text: str, problem: BaseException | None = None) -> None:
        _LOGGER.error(text, exc_info=problem)
        if self.state in (PENDING, STARTED):
            self._connection.on_failed(self.head.as_received(), problem or RuntimeError(text))
        if self.state is PENDING and not self.transport.is_closing():
            self._send_head(500, *FAULT_HEADERS)
            self._send_part(FAULT, more=False)
        else:
            self.edge.end()
            self.transport.close()

    async def receive(self) -> Message:
        """Wait for more of the request, and return what has arrived since the last call."""
        self.ask_for_body()  # only now: an app that answers without reading the body spares the client the upload
        if not self._has_ended:
            self._flow.resume_reading()
            if not self._has_news:
                self._arrival = asyncio.Event()
                await self._arrival.wait()
            self._has_news = False
        if self._has_ended:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self._read_body(), "more_body": not self.is_body_whole}

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
            self._send_head(message["status"], *decode_headers(message.get("headers", ())))
        elif self.state is STARTED and kind == "http.response.body":
            self._send_part(message.get("body", b""), more=message.get("more_body", False))
            if EVENTS in message:
                self.edge.add_events(message[EVENTS])
        else:
            raise RuntimeError(f"Unexpected ASGI message {kind!r} for an answer that is {self.state.name}.")

    def _send_head(self, status: int, names: tuple[str, ...], values: tuple[str, ...]) -> None:
        self.state, self._has_continued = STARTED, True
        (first_names, first_values), head = self._connection.first_headers, self.head
        names, values = first_names + names, first_values + values
        planned = names, status, False, self.keep_alive, head.method, head.version
        framing = plan_framing(*planned)
        if framing.framing_at:
            framing = plan_framing(*planned, tuple([values[place].lower() for place in framing.framing_at]))
        self._framing, self.keep_alive = framing, framing.keep_alive
        self._missing = framing.length if framing.body is BodyFraming.LENGTH else 0
        self._write(framing.encode_head(values))

    def _write(self, data: bytes) -> None:
        self.transport.write(data)
        self.edge.add_part(len(data), time())

    def _send_part(self, body: bytes, *, more: bool) -> None:
        if self._framing.body is BodyFraming.LENGTH:
            self._missing -= len(body)
            if self._missing < 0:
                raise RuntimeError("Response content longer than Content-Length")
        if encoded := self._framing.encode_part(body, more=more):
            self._write(encoded)
        if more:
            return
        if self._missing > 0:
            raise RuntimeError("Response content shorter than Content-Length")
        self._complete()

    def _complete(self) -> None:
        self.state = COMPLETE
        self.edge.end(whole=True)
        if self._arrival:
            self._arrival.set()
        if not self.keep_alive:
            self.transport.close()
        self._connection.on_answered()
