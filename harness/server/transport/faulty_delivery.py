"""Carries out an answer that is not sent at once and whole (`harness.core.delivery`), over HTTP and over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import suppress
from typing import Any, cast

import orjson

from harness.answers.sse import encode_event
from harness.core.delivery import Delivery, Gate, Pause
from harness.core.exchange import Answer, Json
from harness.core.headers import encode_headers

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def deliver_answer(answer: Answer, delivery: Delivery, receive: Receive, send: Send) -> None:
    """Answer a request over HTTP; ends early when the client leaves."""
    if answer.status:
        headers = encode_headers(answer.headers.items())
        for part, pauses in _timed_messages(answer, delivery, headers, answer.status):
            if pauses and not await _wait_unless_left(pauses, receive, []):
                return
            await send(part)
    if delivery.disconnects:
        disconnect(send)
        while (await receive())["type"] != "http.disconnect":
            pass


TimedMessage = tuple[Message, list[Pause]]
"""What is sent next, and the pauses before it."""


def _timed_messages(
    answer: Answer, delivery: Delivery, headers: list[tuple[bytes, bytes]], status: int
) -> Iterator[TimedMessage]:
    """What goes out, each with the pauses before it."""
    start = {"type": "http.response.start", "status": status, "headers": headers}
    if answer.events is None:
        body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
        # The length is one byte too great, so that a cut body is never complete.
        headers.append((b"content-length", str(len(body) + delivery.disconnects).encode()))
        yield start, list(delivery.pauses)
        yield _body_message(body, delivery.disconnects), []
        return
    yield start, []
    sent = 0
    for sent, event in enumerate(answer.events, 1):
        yield _body_message(encode_event(event)), _pauses_after(delivery, sent - 1)
    rest = encode_event(dict(delivery.partial_event)) if delivery.partial_event else b""
    yield (
        _body_message(rest[: int(len(rest) * delivery.partial_share)], delivery.disconnects),
        _pauses_after(delivery, sent),
    )


def _body_message(body: bytes, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _pauses_after(delivery: Delivery, sent: int) -> list[Pause]:
    return [pause for pause in delivery.pauses if pause.applies_at(sent)]


async def _wait_unless_left(pauses: Iterable[Pause], receive: Receive, early: list[Message]) -> bool:
    """Wait; messages of the client meanwhile go into `early`. False when it disconnects before the pauses are over."""
    for pause in pauses:
        over = asyncio.ensure_future(_wait_for_pause(pause))
        try:
            while not (over.done() or _has_disconnected(early)):
                early += await _receive_until(receive, over)
        finally:
            over.cancel()
    return not _has_disconnected(early)


async def _receive_until(receive: Receive, over: asyncio.Future[None]) -> list[Message]:
    """The message that the client sends before `over` is done, or none."""
    message = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((over, message), return_when=asyncio.FIRST_COMPLETED)
        return [message.result()] if message.done() else []
    finally:
        message.cancel()


def _has_disconnected(early: list[Message]) -> bool:
    return bool(early) and early[-1]["type"].endswith(".disconnect")


async def _wait_for_pause(pause: Pause) -> None:
    await asyncio.sleep(pause.seconds)
    if not isinstance(gate := pause.until, Gate):
        return
    loop, opened = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the server has stopped, nobody waits any more
            loop.call_soon_threadsafe(opened.set)

    gate.add_callback(wake)
    try:
        await opened.wait()
    finally:
        gate.remove_callback(wake)


def disconnect(send: Send) -> None:
    """Break off the connection: ASGI knows no way, so that uvicorn's own transport is closed."""
    cast("Any", send).__self__.transport.close()


async def send_events(events: Iterable[Json], delivery: Delivery, receive: Receive, send: Send) -> list[Message]:
    """Send events over a WebSocket, with pauses; returns the messages of the client meanwhile."""
    early: list[Message] = []
    sent = 0
    for sent, event in enumerate(events, 1):
        await _wait_unless_left(_pauses_after(delivery, sent - 1), receive, early)
        await send({"type": "websocket.send", "text": orjson.dumps(event).decode()})
    await _wait_unless_left(_pauses_after(delivery, sent), receive, early)
    return early
