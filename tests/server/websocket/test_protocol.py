"""A WebSocket between the frames of a client and the messages of an app: pings, closing, what comes at a bad time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from harness.server.transport.asgi_types import AsgiApp, Receive, Scope, Send
from harness.server.websocket import protocol as module
from harness.server.websocket.protocol import WebSocketProtocol
from tests.fuzz.parsers.connection import Wire

UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SHORT, LONG = 0.01, 60.0


class Unread(Wire):
    """A connection whose other end reads nothing: closing it waits for ever, `aborted` says whether it was cut off."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Peer:
    """A client of an app: `said` are the frames that it got after the head of the answer."""

    def __init__(self, app: AsgiApp, wire: Wire) -> None:
        self.wire, self.problems = wire, list[str]()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.problems.append(str(context)))
        config = SimpleNamespace(loaded_app=app, ws_max_size=1000)
        self.protocol = WebSocketProtocol(config, ServerState(), {"type": "websocket"})
        self.protocol.connection_made(wire)
        self.protocol.data_received(UPGRADE)

    def send(self, opcode: Opcode, data: bytes = b"") -> None:
        self.protocol.data_received(Frame(opcode, data).serialize(mask=True))

    @property
    def said(self) -> bytes:
        return bytes(self.wire.said).partition(b"\r\n\r\n")[2]


def talk(app: AsgiApp, story: Callable[[Peer], Awaitable[None]], wire: Wire | None = None) -> Peer:
    """Tell a story of a client of an app; nothing may fail in the event loop."""

    async def run() -> Peer:
        peer = Peer(app, wire or Wire())
        await story(peer)
        assert peer.problems == []
        peer.protocol.connection_lost(None)
        return peer

    return asyncio.run(run())


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.001)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept, and send each message back."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})


async def close_at_once(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    await receive()
    await send({"type": "websocket.close", "code": 1000})


def ping_in(said: bytes) -> bytes:
    """Return the payload of the first ping, which is the last frame."""
    assert said[:2] == b"\x89\x04"
    return said[2:6]


def test_a_client_that_answers_pings_stays_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", SHORT)

    async def story(peer: Peer) -> None:
        for number in range(3):
            await until(lambda seen=6 * number: len(peer.said) > seen)
            peer.send(Opcode.PONG, ping_in(peer.said[6 * number :]))
        assert not peer.wire.closed

    talk(echo, story)


def test_a_client_that_answers_no_ping_is_closed_with_1011(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", SHORT)

    async def story(peer: Peer) -> None:
        await until(lambda: peer.wire.closed)
        assert peer.said.endswith(b"\x03\xf3keepalive ping timeout")

    talk(echo, story)


def test_a_client_is_not_closed_for_a_pong_that_the_server_has_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", SHORT)
    missed: list[object] = []
    real = WebSocketProtocol._miss_pong
    monkeypatch.setattr(WebSocketProtocol, "_miss_pong", lambda self: (missed.append(1), real(self)))

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.Event().wait()

    async def story(peer: Peer) -> None:
        await until(lambda: peer.protocol.state is module.OPEN)
        peer.send(Opcode.TEXT, b"{}")  # the app takes it later, and until then nothing is read
        await until(lambda: len(missed) > 2)
        assert not peer.wire.closed

    talk(busy, story)


def test_a_pong_does_not_put_off_the_end_of_a_connection_that_is_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", SHORT)

    async def story(peer: Peer) -> None:
        await until(lambda: bool(peer.said))
        ping = ping_in(peer.said)
        monkeypatch.setattr(module, "PING_SECONDS", LONG)
        monkeypatch.setattr(module, "CLOSE_SECONDS", SHORT)
        peer.send(Opcode.TEXT, b"{}")
        await until(lambda: peer.said.endswith(b"\x88\x02\x03\xe8"))
        peer.send(Opcode.PONG, ping)
        await until(lambda: peer.wire.closed)

    talk(close_at_once, story)


@pytest.mark.parametrize("app", [echo, close_at_once])
def test_a_client_that_reads_nothing_is_cut_off_in_the_end(app: AsgiApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_SECONDS", SHORT)

    async def story(peer: Peer) -> None:
        await until(lambda: peer.protocol.state is module.OPEN)
        peer.send(*((Opcode.CLOSE,) if app is echo else (Opcode.TEXT, b"{}")))
        await until(lambda: peer.wire.aborted)

    talk(app, story, Unread())


def test_a_message_before_the_upgrade_is_accepted_is_kept() -> None:
    async def story(peer: Peer) -> None:
        peer.send(Opcode.TEXT, b"early")
        await until(lambda: peer.said == b"\x81\x05early")

    talk(echo, story)


@pytest.mark.parametrize(("status", "line"), [(403, b"403 Forbidden"), (520, b"520 "), (499, b"499 ")])
def test_an_app_refuses_with_any_status(status: int, line: bytes) -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.http.response.start", "status": status, "headers": [(b"x-a", b"b")]})
        await send({"type": "websocket.http.response.body", "body": b"no"})

    async def story(peer: Peer) -> None:
        await until(lambda: peer.wire.closed)
        head, _, body = bytes(peer.wire.said).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 " + line + b"\r\n")
        assert (b"x-a: b" in head, b"Content-Length: 2" in head, body) == (True, True, b"no")

    talk(refuse, story)


def test_an_app_that_fails_is_logged_and_answered_with_500(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("uvicorn", "uvicorn.error"):  # a server of another test may have set them up for its own output
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
    caplog.set_level(logging.ERROR, "uvicorn.error")

    async def fail(scope: Scope, receive: Receive, send: Send) -> Any:
        raise ZeroDivisionError

    async def story(peer: Peer) -> None:
        await until(lambda: peer.wire.closed)
        assert peer.wire.said.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")

    talk(fail, story)
    assert {record.message.strip() for record in caplog.records} == {"Exception in ASGI application"}
