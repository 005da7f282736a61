"""Sends answers over ASGI: complete ones in as few writes as possible, others as their `harness.core.delivery` says.

A stream without a delivery is sent in one go, too: one send per event costs five times as much.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any, cast

import orjson

from harness.answers.encode import cut_into_pieces, encode_body, encode_frames, encode_partial_event
from harness.core.delivery import Delivery, Gate, Pause
from harness.core.exchange import Answer, Json, OnDisk
from harness.core.headers import encode_headers
from harness.server.transport.asgi_types import EDGE, Message, Receive, Send

NO_LINGER = struct.pack("ii", 1, 0)
"""Socket option value: closing a socket with this `SO_LINGER` sends a reset."""
WRITE_SIZE = 64 * 1024
EVENT_END = b"\n\n"
READ_SIZE = 1 << 20
"""Bytes of a file on disk that are read at once."""


async def deliver(answer: Answer, receive: Receive, send: Send) -> None:
    """Send an answer, complete or as its delivery says, until its end or until the client disconnects."""
    if answer.delivery is None:
        await send_answer(send, answer)
    else:
        await _deliver_timed(answer, answer.delivery, receive, send)


async def send_answer(send: Send, answer: Answer) -> None:
    """Send a complete answer at once."""
    if isinstance(answer.body, OnDisk):
        await _send_stored(send, answer, answer.body)
        return
    body = encode_body(answer)
    await send(_start_message(answer, len(body)))
    # The last piece is never empty, unless the whole body is.
    last = max(0, len(body) - 1) // WRITE_SIZE * WRITE_SIZE
    events = 0
    for start in range(0, last, WRITE_SIZE):
        piece = body[start : start + WRITE_SIZE]
        events += 0 if answer.events is None else piece.count(EVENT_END)
        await send(_body_message(piece, events=events))
    await send({"type": "http.response.body", "body": body[last:]})


async def _send_stored(send: Send, answer: Answer, content: OnDisk) -> None:
    await send(_start_message(answer, content.size))
    for start in range(0, content.size, READ_SIZE):
        piece = await asyncio.to_thread(content.read_part, start, READ_SIZE)
        await send(_body_message(piece, start + READ_SIZE < content.size))


async def _deliver_timed(answer: Answer, delivery: Delivery, receive: Receive, send: Send) -> None:
    with closing(_Clock(receive)) as clock:
        if not await clock.wait([Pause(delivery.delay)] if delivery.delay else []):
            return
        for part, pauses, due in _timed_messages(answer, delivery) if answer.status else ():
            if not await clock.wait(pauses, due):
                return
            await send(part)
    if delivery.disconnects:
        disconnect(send, resets=delivery.resets)
        # An app that returned before its connection has closed would be reported for an incomplete answer.
        while (await receive())["type"] != "http.disconnect":
            pass


TimedMessage = tuple[Message, list[Pause], float]
"""A message, the pauses before it, and the seconds since the start, without pauses, at which it is sent."""


class _Clock:
    """The time since an answer began, not counting pauses; `early` are the messages that the client sends meanwhile.

    The task that receives them is kept between waits, since a paced answer has many of them.
    """

    def __init__(self, receive: Receive) -> None:
        self.early: list[Message] = []
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._receive = receive
        self._message: asyncio.Future[Message] | None = None

    def close(self) -> None:
        """Stop receiving."""
        if self._message and not self._message.cancel():
            self._take_message()

    async def wait(self, pauses: Iterable[Pause], due: float = 0) -> bool:
        """Wait for the pauses and until `due`; return whether the client is still there."""
        for pause in pauses:
            before = self._loop.time()
            # A gate may never open: the wait ends also when the client leaves.
            over = asyncio.ensure_future(_wait_for_pause(pause))
            try:
                while not (over.done() or self._has_left):
                    await self._listen(over)
            finally:
                over.cancel()
            self._begun += self._loop.time() - before
        while (seconds := self._begun + due - self._loop.time()) > 0 and not self._has_left:
            await self._listen(seconds=seconds)
        return not self._has_left

    async def _listen(self, over: asyncio.Future[None] | None = None, seconds: float | None = None) -> None:
        """Wait for a message of the client, until `over` is done or for so many seconds."""
        self._message = self._message or asyncio.ensure_future(self._receive())
        waited: list[asyncio.Future[Any]] = [self._message, over] if over else [self._message]
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._message.done():
            self._take_message()

    def _take_message(self) -> None:
        if self._message:
            self.early.append(self._message.result())
        self._message = None

    @property
    def _has_left(self) -> bool:
        return bool(self.early) and self.early[-1]["type"].endswith(".disconnect")


def _timed_messages(answer: Answer, delivery: Delivery) -> Iterator[TimedMessage]:
    """Yield the messages of an answer, each with the pauses before it."""
    if answer.events is None:
        body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
        # The length is one byte too large if the connection is to break off, so a cut body is never complete.
        yield _start_message(answer, len(body) + delivery.disconnects), list(delivery.pauses), delivery.due_at(0)
        *pieces, last = cut_into_pieces(body, delivery.chunk_size)
        for piece in pieces:
            yield _body_message(piece), [], 0
        yield _body_message(last, delivery.disconnects), [], 0
        return
    yield _start_message(answer), [], 0
    sent, held = 0, b""
    for sent, frame in enumerate(encode_frames(answer.events, delivery.frames), 1):
        pauses, due = delivery.pauses_at(sent - 1), delivery.due_at(sent - 1)
        if delivery.chunk_size == 0 and not pauses and not due:
            held += frame
            continue
        if held:
            yield _body_message(held, events=sent - 1), [], 0
            held = b""
        first, *pieces = cut_into_pieces(frame, delivery.chunk_size)
        yield _body_message(first, events=sent - bool(pieces)), pauses, due
        for left, piece in zip(range(len(pieces) - 1, -1, -1), pieces, strict=True):
            yield _body_message(piece, events=sent - bool(left)), [], 0
    if held:
        yield _body_message(held, events=sent), [], 0
    yield (
        _body_message(encode_partial_event(delivery), delivery.disconnects),
        delivery.pauses_at(sent),
        delivery.due_at(sent) if delivery.partial_event else 0,
    )


def _start_message(answer: Answer, length: int = 0) -> Message:
    """Build the message that starts an answer, with the length of its body unless it is a stream."""
    headers = encode_headers(answer.headers.items())
    if answer.events is None:
        headers.append((b"content-length", b"%d" % length))
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


def _body_message(body: bytes, more: bool = True, **events: int) -> Message:
    """Build a body message; `events` says how many events of the stream have been sent with it."""
    return {"type": "http.response.body", "body": body, "more_body": more, **events}


async def _wait_for_pause(pause: Pause) -> None:
    await asyncio.sleep(pause.seconds)
    if not isinstance(gate := pause.until, Gate):
        return
    loop, opened = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the server's event loop has ended, so nothing waits any more
            loop.call_soon_threadsafe(opened.set)

    gate.add_callback(wake)
    try:
        await opened.wait()
    finally:
        gate.remove_callback(wake)


def disconnect(send: Send, *, resets: bool = False) -> None:
    """Break off the connection by closing or resetting the transport behind `send`; ASGI has no message for that."""
    connection = cast("Any", send).__self__
    if edge := getattr(connection, EDGE, None):
        edge.end()  # before the connection is lost, which would look as if the client had disconnected
    transport = connection.transport
    if resets and (end := transport.get_extra_info("socket")):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        transport.abort()
    else:
        transport.close()


async def send_events(
    events: Iterable[Json], delivery: Delivery, receive: Receive, send: Callable[[Json], Awaitable[None]]
) -> list[Message]:
    """Send events over a WebSocket, with pauses; return the messages that the client sent meanwhile."""
    sent = 0
    with closing(_Clock(receive)) as clock:
        for sent, event in enumerate(events, 1):
            await clock.wait(delivery.pauses_at(sent - 1), delivery.due_at(sent - 1))
            await send(event)
        await clock.wait(delivery.pauses_at(sent))
    return clock.early
