"""What a connection does with the bytes of a client and with the messages of an ASGI app."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from harness.core.exchange import Answer
from harness.server.transport import connection
from harness.server.transport.connection import ConnectionState, HttpConnection
from tests.fuzz.parsers.connection import Wire

Answering = Callable[[Any, Any, Any], Awaitable[None]]
GET = b"GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


class Client:
    """One that speaks with an app over a connection; `said` is what it got."""

    def __init__(self, loop: asyncio.AbstractEventLoop, app: Answering, **options: Any) -> None:
        self.loop, self.wire, self.state = loop, Wire(), ServerState()
        self.state.default_headers = [(b"server", b"x")]
        config = Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
        config.load()
        self.connection = HttpConnection(config, self.state, {}, loop, **options)
        self.connection.connection_made(self.wire)

    def send(self, *pieces: bytes) -> Client:
        for piece in pieces:
            self.connection.data_received(piece)
            self.turn()
        return self

    def turn(self) -> None:
        for _ in range(8):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def leave(self) -> None:
        self.connection.connection_lost(None)
        self.turn()

    @property
    def said(self) -> bytes:
        return bytes(self.wire.said)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    for task in asyncio.all_tasks(made):
        task.cancel()
    made.run_until_complete(asyncio.sleep(0))
    made.close()


async def read_all(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the method, the path and the body."""
    body = b"%b %b %b" % (scope["method"].encode(), scope["path"].encode(), await read_all(receive))
    headers = [(b"Content-Length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def answering(*parts: bytes, status: int = 200, headers: Any = ()) -> Answering:
    """Return an app that answers with these parts of a body."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": number < len(parts)})

    return answer


class Waiting:
    """An app that answers when it is told to, and notes who has left."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.began: list[str] = []
        self.left: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.began.append(scope["path"])
        told = asyncio.ensure_future(self.told.wait())
        message = asyncio.ensure_future(receive())
        await receive_until_left(receive, message, told)
        if not told.done():
            self.left.append(scope["path"])
            return
        message.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


async def receive_until_left(receive: Any, message: Any, told: Any) -> None:
    while not told.done():
        await asyncio.wait((told, message), return_when=asyncio.FIRST_COMPLETED)
        if message.done():
            if message.result()["type"] == "http.disconnect":
                told.cancel()
                return
            message = asyncio.ensure_future(receive())


class TestARequest:
    def test_a_request_becomes_a_scope(self, loop: asyncio.AbstractEventLoop) -> None:
        scopes: list[Any] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scopes.append(scope)
            await echo(scope, receive, send)

        Client(loop, app).send(GET)
        assert scopes == [
            {
                "type": "http",
                "asgi": {"version": "3.0", "spec_version": "2.3"},
                "http_version": "1.1",
                "scheme": "http",
                "method": "GET",
                "path": "/a b",
                "raw_path": b"/a%20b",
                "query_string": b"c=d",
                "root_path": "",
                "headers": [(b"host", b"x")],
                "server": ("127.0.0.1", 2),
                "client": ("127.0.0.1", 1),
                "state": {"edge": scopes[0]["state"]["edge"]},
            }
        ]

    def test_a_request_may_come_byte_by_byte(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, echo).send(*(bytes([byte]) for byte in POST + b"body"))
        assert client.said == OK + b"server: x\r\ncontent-length: 13\r\n\r\nPOST /v1 body"
        assert client.connection.state is ConnectionState.BETWEEN

    @pytest.mark.parametrize(
        ("start", "piece"),
        [
            (b"GET /", b"a" * 65_536),
            (b"GET / HTTP/1.1\r\nX: ", b"a" * 65_536),
            (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 10_000),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"a" * 65_536),
        ],
        ids=["address", "header", "headers", "trailers", "extension"],
    )
    def test_a_request_whose_head_does_not_end_is_refused(
        self, loop: asyncio.AbstractEventLoop, start: bytes, piece: bytes
    ) -> None:
        client = Client(loop, echo).send(start, *[piece] * 15)
        assert not client.said
        client.send(*[piece] * 5)
        assert client.said.startswith(b"HTTP/1.1 431 ")
        assert client.wire.closed

    def test_a_request_that_expects_100_continue_gets_it(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, echo).send(POST[:-2] + b"Expect: 100-continue\r\n\r\n")
        assert client.said == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert client.send(b"body").said.endswith(b"POST /v1 body")

    def test_a_request_that_is_answered_before_its_body_gets_no_100_continue(
        self, loop: asyncio.AbstractEventLoop
    ) -> None:
        client = Client(loop, answering(b"no", status=413, headers=[(b"content-length", b"2")]))
        client.send(POST[:-2] + b"Expect: 100-continue\r\n\r\n")
        assert client.said.startswith(b"HTTP/1.1 413 ")
        assert client.send(b"body", GET).said.count(b"HTTP/1.1 413 ") == 2

    @pytest.mark.parametrize("together", [True, False])
    def test_a_request_waits_for_the_answers_to_those_before(
        self, together: bool, loop: asyncio.AbstractEventLoop
    ) -> None:
        client = Client(loop, app := Waiting())
        client.send(GET + LAST) if together else client.send(GET, LAST)
        assert (app.began, client.said) == (["/a b"], b"")
        app.told.set()
        client.turn()
        assert app.began == ["/a b", "/last"]
        assert (client.said.count(OK), client.said.count(b"connection: close")) == (2, 1)
        assert client.wire.closed

    def test_a_request_is_the_last_of_a_connection_that_is_not_kept(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, echo, keep_alive=False).send(GET + GET)
        assert client.said == OK + b"server: x\r\ncontent-length: 9\r\nconnection: close\r\n\r\nGET /a b "
        assert client.wire.closed

    def test_a_request_whose_client_leaves_is_abandoned_with_those_behind(
        self, loop: asyncio.AbstractEventLoop
    ) -> None:
        client = Client(loop, app := Waiting()).send(GET + LAST)
        client.leave()
        assert (app.began, app.left) == (["/a b"], ["/a b"])
        assert not client.state.tasks
        assert not client.state.connections


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("headers", "parts", "framed"),
        [
            ([(b"Content-Length", b"4")], (b"ab", b"cd"), b"content-length: 4\r\n\r\nabcd"),
            ([], (b"ab", b"", b"cd"), b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"),
            ([], (b"",), b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            ([(b"Transfer-Encoding", b"chunked")], (b"a",), b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
        ],
    )
    def test_an_answer_has_a_length_or_chunks(
        self, headers: Any, parts: tuple[bytes, ...], framed: bytes, loop: asyncio.AbstractEventLoop
    ) -> None:
        client = Client(loop, answering(*parts, headers=headers)).send(GET)
        assert client.said == OK + b"server: x\r\n" + framed
        assert not client.wire.closed

    @pytest.mark.parametrize(
        ("asked", "status", "head"),
        [
            (GET.replace(b"GET", b"HEAD"), 200, b"server: x\r\n\r\n"),
            (GET, 204, b"server: x\r\n\r\n"),
            (GET, 304, b"server: x\r\n\r\n"),
        ],
    )
    def test_an_answer_may_have_no_body(
        self, asked: bytes, status: int, head: bytes, loop: asyncio.AbstractEventLoop
    ) -> None:
        parts = (b"what a GET gets",) if asked.startswith(b"HEAD") else (b"",)
        client = Client(loop, answering(*parts, status=status)).send(asked)
        assert client.said.partition(b"\r\n")[2] == head
        assert not client.wire.closed

    def test_an_answer_to_http_1_0_ends_with_the_connection(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, answering(b"ab", b"cd")).send(GET.replace(b"1.1", b"1.0"))
        assert client.said == OK + b"server: x\r\nconnection: close\r\n\r\nabcd"
        assert client.wire.closed

    def test_an_answer_that_says_close_is_the_last(self, loop: asyncio.AbstractEventLoop) -> None:
        headers = [(b"content-length", b"0"), (b"Connection", b"TE, Close")]
        client = Client(loop, answering(b"", headers=headers)).send(GET)
        assert client.said.count(b"connection: ") == 1
        assert client.wire.closed

    def test_an_answer_waits_for_a_client_that_does_not_read(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, echo)
        client.connection.pause_writing()
        assert client.send(GET).said == b""
        client.connection.resume_writing()
        client.turn()
        assert client.said.startswith(OK)

    def test_an_answer_waits_no_more_for_a_client_that_left(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, echo)
        client.connection.pause_writing()
        client.send(GET).leave()
        assert (client.said, client.state.tasks) == (b"", set())

    def test_an_answer_is_the_last_once_the_server_ends(self, loop: asyncio.AbstractEventLoop) -> None:
        client = Client(loop, app := Waiting()).send(GET)
        client.connection.shutdown()
        assert not client.wire.closed
        app.told.set()
        client.turn()
        assert b"connection: close" in client.said
        assert client.wire.closed


class TestAFaultOfTheApp:
    FAULTS = {  # noqa: RUF012
        "raises": "Exception in ASGI application",
        "says nothing": "ASGI callable returned without starting response.",
    }

    @pytest.fixture(autouse=True)
    def logged(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
        for name in ("uvicorn", "uvicorn.error"):  # a server of another test may have set them up for its own output
            monkeypatch.setattr(logging.getLogger(name), "propagate", True)
            monkeypatch.setattr(logging.getLogger(name), "disabled", False)
        caplog.set_level(logging.ERROR, "uvicorn.error")
        return caplog

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_of_the_app_before_the_answer_is_a_500(
        self, fault: str, loop: asyncio.AbstractEventLoop, logged: pytest.LogCaptureFixture
    ) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            if fault == "raises":
                raise ValueError("no")

        client = Client(loop, app).send(GET)
        assert client.said.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert client.said.endswith(b"connection: close\r\n\r\nInternal Server Error")
        assert [record.getMessage().strip() for record in logged.records] == [self.FAULTS[fault]]
        assert client.wire.closed

    @pytest.mark.parametrize(
        ("headers", "parts", "problem"),
        [
            ([(b"content-length", b"3")], (b"ab", b"cd"), "Response content longer than Content-Length"),
            ([(b"content-length", b"3")], (b"ab",), "Response content shorter than Content-Length"),
            ([(b"x y", b"z")], (b"",), "Invalid HTTP header name."),
            ([(b"x", b"a\r\nb: c")], (b"",), "Invalid HTTP header value."),
        ],
    )
    def test_a_fault_of_the_app_in_what_it_sends_cuts_the_answer(
        self, headers: Any, parts: tuple[bytes, ...], problem: str, loop: asyncio.AbstractEventLoop, logged: Any
    ) -> None:
        client = Client(loop, answering(*parts, headers=headers)).send(GET)
        assert [str(record.exc_info[1]) for record in logged.records] == [problem]
        assert client.wire.closed

    @pytest.mark.parametrize("kinds", [["body"], ["start", "start"], ["start", "body", "body"]], ids="-".join)
    def test_asgi_messages_in_the_wrong_order_are_logged(
        self, kinds: list[str], loop: asyncio.AbstractEventLoop, logged: pytest.LogCaptureFixture
    ) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            for kind in kinds:
                await send({"type": f"http.response.{kind}", "status": 200})

        assert Client(loop, app).send(GET).wire.closed
        (record,) = logged.records
        assert record.exc_info
        assert f"Unexpected ASGI message 'http.response.{kinds[-1]}'" in str(record.exc_info[1])

    def test_a_fault_of_the_app_that_leaves_an_answer_unended_closes_the_connection(
        self, loop: asyncio.AbstractEventLoop, logged: pytest.LogCaptureFixture
    ) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200})

        assert Client(loop, app).send(GET).wire.closed
        assert [record.getMessage() for record in logged.records] == [
            "ASGI callable returned without completing response."
        ]

    def test_a_fault_of_the_app_is_none_when_the_server_cancels_it(
        self, loop: asyncio.AbstractEventLoop, logged: pytest.LogCaptureFixture
    ) -> None:
        client = Client(loop, Waiting()).send(GET)
        for task in client.state.tasks:
            task.cancel()
        client.turn()
        assert not logged.records


class TestTheClock:
    @pytest.fixture
    def client(self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> Client:
        monkeypatch.setattr(connection, "REQUEST_SECONDS", -1.0)
        return Client(loop, echo)

    def refused(self, client: Client) -> bool:
        client.connection.end_when_late()
        return client.said.startswith(b"HTTP/1.1 408 ") and client.wire.closed

    @pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET", POST, POST + b"bo"])
    def test_the_clock_ends_a_request_that_is_not_whole(self, sent: bytes, client: Client) -> None:
        if sent:
            client.send(sent)
        assert self.refused(client)

    def test_the_clock_leaves_a_whole_one_alone(self, client: Client) -> None:
        assert not self.refused(client.send(GET))
        assert not client.wire.closed

    def test_the_clock_leaves_one_alone_that_waits_for_an_answer(
        self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "REQUEST_SECONDS", -1.0)
        client = Client(loop, Waiting()).send(GET + b"GET")
        assert not self.refused(client)
        assert not client.wire.closed

    def test_the_clock_ends_a_connection_that_is_idle(self, client: Client) -> None:
        client.send(GET).connection.idle_seconds = -1
        client.connection.end_when_late()
        assert client.wire.closed
        assert b" 408 " not in client.said


class Counting:
    """A service that answers each request at once with its number."""

    def __init__(self) -> None:
        self.answered = 0

    def takes_whole(self, head: Any) -> bool:
        return True

    def answer(self, received: Any, edge: Any) -> Answer:
        self.answered += 1
        return Answer(200, {"number": self.answered})


class TestManyRequestsInOneWrite:
    def test_others_are_answered_before_the_last_of_them(self, loop: asyncio.AbstractEventLoop) -> None:
        service: Any = Counting()
        greedy, other = (Client(loop, echo, service=service) for _ in range(2))
        greedy.connection.data_received(GET * 100)
        other.connection.data_received(GET)
        assert b'{"number":9}' in other.said
        assert greedy.said.count(OK) == 8

    def test_they_are_answered_in_their_order(self, loop: asyncio.AbstractEventLoop) -> None:
        service: Any = Counting()
        client = Client(loop, echo, service=service).send(GET * 30, GET * 2 + LAST)
        assert re.findall(rb'"number":(\d+)', client.said) == [str(n).encode() for n in range(1, 34)]
        assert client.wire.closed

    def test_a_client_that_leaves_gets_no_more(self, loop: asyncio.AbstractEventLoop) -> None:
        service: Any = Counting()
        client = Client(loop, echo, service=service)
        client.connection.data_received(GET * 100)
        client.leave()
        assert service.answered == 8

    def test_no_more_is_read_before_the_last_of_them(
        self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service: Any = Counting()
        client = Client(loop, echo, service=service)
        noted: list[str] = []
        monkeypatch.setattr(client.wire, "pause_reading", lambda: noted.append(f"paused after {service.answered}"))
        monkeypatch.setattr(client.wire, "resume_reading", lambda: noted.append(f"resumed after {service.answered}"))
        client.send(GET * 20)
        assert noted == ["paused after 8", "resumed after 19"]
