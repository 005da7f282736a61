"""A request that has arrived whole is answered in one write, or by a task with the same bytes if its answer waits."""

import asyncio
import gc
import json
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import chain, repeat
from typing import Any

import pytest

from harness.core.exchange import Answer, Request
from harness.faults import cut, pause
from harness.items import message
from harness.server.http_server import App, Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.transport import request_parser
from harness.server.transport.connection import HttpConnection
from harness.server.transport.request_parser import RequestParser
from tests.support.processes import wait_until

LONG = "word " * 20_000
HEAD = "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\n{more}Content-Length: {size}\r\n\r\n"


def turn_for(request: Request) -> Any:
    """Return a turn as the input asks for it."""
    said: dict[str, Any] = {
        "long": lambda: message(LONG),
        "late": lambda: pause(message("Late."), seconds=0.01),
        "cut": lambda: cut(message("Cut."), after=3),
    }
    return said.get(request.body["input"], lambda: message("Sure."))()


@pytest.fixture
def server() -> Iterator[Server]:
    def prepare(mock: Any) -> None:
        mock.script(*[turn_for] * 4_000)

    with serve_in_thread(MockApi(prepare=prepare)) as running:
        yield running


@pytest.fixture(params=["at once", "later"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that has an answer at once, and one that has it later, as with a store."""
    if request.param == "later":
        monkeypatch.setattr(App, "answer", answering_later(repeat(0.003)))
    found: Server = request.getfixturevalue("server")
    return found


def answering_later(seconds: Iterator[float]) -> Callable[..., Awaitable[Answer]]:
    """Return what answers a request, each with the answer to come after the next of these seconds."""
    answer_now: Callable[..., Answer] = App.answer  # type: ignore[assignment]

    async def wait(answer: Answer, seconds: float) -> Answer:
        await asyncio.sleep(seconds)
        return answer

    return lambda *asked: wait(answer_now(*asked), next(seconds))


def request_of(body: object, path: str = "/v1/responses", more: str = "") -> bytes:
    raw = json.dumps(body).encode()
    return HEAD.format(path=path, more=more, size=len(raw)).encode() + raw


def answer_to(server: Server, *pieces: bytes) -> bytes:
    """Return all that a connection gives for these pieces, sent one after the other, but for the time of day.

    It is read to its end when the last request asks for one, else for one whole answer: a connection of which
    one side is closed is given up by the server, whatever it has yet to send.
    """
    to_the_end = b"Connection: close" in pieces[-1]
    received = b""
    with socket.create_connection((server.host, server.port), timeout=10) as wire:
        for piece in pieces:
            wire.sendall(piece)
            time.sleep(0.02)
        while (to_the_end or not is_whole(received)) and (more := wire.recv(1 << 16)):
            received += more
    return re.sub(rb"date: [^\r]+", b"", received)


def is_whole(received: bytes) -> bool:
    head, blank, rest = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(blank) and (len(rest) == int(length[1]) if length else rest.endswith(b"\r\n0\r\n\r\n"))


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """The answers that are sent in parts."""
    sent: list[Answer] = []
    deliver = App.deliver

    def note(app: App, answer: Answer, *channel: Any) -> Any:
        sent.append(answer)
        return deliver(app, answer, *channel)

    monkeypatch.setattr(App, "deliver", note)
    return sent


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        ({"model": "gpt-4.1", "input": "hi"}, True),
        ({"model": "gpt-4.1", "input": "hi", "stream": True}, True),
        ({"model": "gpt-4.1", "input": "hi", "temperature": 7}, True),
        ({"model": "gpt-4.1", "input": "long"}, False),
        ({"model": "gpt-4.1", "input": "long", "stream": True}, False),
        ({"model": "gpt-4.1", "input": "late"}, False),
        ({"model": "gpt-4.1", "input": "cut", "stream": True}, False),
    ],
)
def test_the_bytes_are_the_same_at_once_and_later(
    body: object, at_once: bool, server: Server, in_parts: list[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer_to(server, request_of(body))
    assert bool(in_parts) is not at_once, whole[:2000]
    server.api.close("sk-1")
    head, _, rest = request_of(body).partition(b"\r\n\r\n")
    assert answer_to(server, head + b"\r\n\r\n", rest) == whole
    server.api.close("sk-1")
    monkeypatch.setattr(App, "answer", answering_later(repeat(0.001)))
    assert answer_to(server, request_of(body)) == whole
    assert whole.startswith(b"HTTP/1.1 ")


def test_requests_sent_together_are_answered_in_order(either: Server) -> None:
    asked = [request_of({"model": "gpt-4.1", "input": text}) for text in ("hi", "late", "hi", "long", "hi") * 20]
    answers = answer_to(either, b"".join(asked) + request_of({}, more="Connection: close\r\n"))
    texts = [len(text) for text in re.findall(rb'"text":"((?:Sure|Late|word)[^"]*)"', answers)]
    assert texts == [5, 5, 5, len(LONG), 5] * 20


@pytest.mark.slow
def test_a_client_that_does_not_read_is_not_answered_without_end(either: Server) -> None:
    one = request_of({"model": "gpt-4.1", "input": "hi", "stream": True})
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.connect((either.host, either.port))
        wire.settimeout(0.5)
        with suppress(TimeoutError):
            wire.sendall(one * 10_000)
        assert wait_until(lambda: either.api.request_count > 0)
        counted = -1
        while counted != either.api.request_count:
            counted = either.api.request_count
            time.sleep(0.3)
        assert 0 < counted < 4_000


@pytest.mark.slow
def test_an_idle_connection_is_closed(either: Server) -> None:
    with socket.create_connection((either.host, either.port), timeout=10) as wire:
        for _ in range(3):
            assert ask(wire, request_of({"model": "gpt-4.1", "input": "hi"})).startswith(b"HTTP/1.1 200 ")
        connections = either._uvicorn.server_state.connections
        set_timeout(connections, 60)
        assert not wait_until(lambda: not connections, seconds=1.2)
        set_timeout(connections, 0)
        assert wait_until(lambda: not connections, seconds=3)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is parsed."""
    seen: list[bytes] = []
    parse = RequestParser._parse

    def note(parser: RequestParser, data: bytes) -> None:
        seen.append(data)
        parse(parser, data)

    request_parser.parse_head.cache_clear()
    monkeypatch.setattr(RequestParser, "_parse", note)
    return seen


def head_of(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def ask(wire: socket.socket, *pieces: bytes) -> bytes:
    """Return the whole answer to a request on an open connection, without what differs from one to the next."""
    for piece in pieces:
        wire.sendall(piece)
        time.sleep(0.02 * (len(pieces) > 1))
    received = b""
    while not is_whole(received):
        received += wire.recv(1 << 16)
    return re.sub(rb"(date: |req_|resp_|msg_)[^\r\"]+|\"(created|completed)_at\":\d+", b"", received)


@pytest.mark.slow
def test_a_head_of_a_new_key_leaves_nothing_to_collect() -> None:
    def parsers() -> set[int]:
        return {id(held) for held in gc.get_objects() if isinstance(held, RequestParser)}

    gc.collect()
    gc.disable()
    try:
        before = parsers()  # of connections that other tests have open
        for number in range(20):
            head = HEAD.format(path=f"/v1/{number}", more="", size=2).encode()
            assert request_parser.parse_head(head)
            assert request_parser.parse_head(head.replace(b"Host", b"Connection: close\r\nHost")) is None
        assert parsers() <= before
    finally:
        gc.enable()


class TestAHeadThatCameBefore:
    BODY = {"model": "gpt-4.1", "input": "hi"}  # noqa: RUF012

    def test_a_head_that_came_before_is_not_parsed_again_on_any_connection(
        self, either: Server, parsed: list[bytes]
    ) -> None:
        one, same_head = request_of(self.BODY), request_of({**self.BODY, "input": "yo"})
        longer, other_key = request_of({**self.BODY, "input": "hey"}), one.replace(b"sk-1", b"sk-2")
        with (
            socket.create_connection((either.host, either.port), timeout=10) as first,
            socket.create_connection((either.host, either.port), timeout=10) as second,
        ):
            answers = {ask(wire, one) for wire in (first, second, first, second, first)}
            assert ask(second, same_head) in answers
            assert parsed == [head_of(one)]
            assert ask(second, longer) in answers
            assert ask(first, other_key) in answers
            assert ask(second, one) in answers
        assert len(answers) == 1
        assert parsed == [*map(head_of, (one, longer, other_key))]
        asked = [exchange.request for exchange in either.api.open("sk-1").exchanges]
        assert [request.body["input"] for request in asked] == [*["hi"] * 5, "yo", "hey", "hi"]
        assert {request.headers["content-length"] == str(len(request.raw)) for request in asked} == {True}
        assert [exchange.request.body["input"] for exchange in either.api.open("sk-2").exchanges] == ["hi"]

    def test_a_head_that_came_before_may_come_in_pieces_and_with_others(self, either: Server) -> None:
        one = request_of(self.BODY)
        with socket.create_connection((either.host, either.port), timeout=10) as wire:
            whole = [ask(wire, one) for _ in range(3)]
            assert [ask(wire, one[:40], one[40:]), ask(wire, one[:-3], one[-3:]), ask(wire, one)] == whole
            assert ask(wire, b"\r\n", one) == whole[0]
        for _ in range(4):
            answers = answer_to(either, one + one + request_of(self.BODY, more="Connection: close\r\n"))
            assert answers.count(b"HTTP/1.1 200 ") == 3

    def test_a_head_that_came_before_may_be_followed_by_less_or_more_than_its_body(self, either: Server) -> None:
        one = request_of(self.BODY)
        last = request_of(self.BODY, more="Connection: close\r\n")
        with socket.create_connection((either.host, either.port), timeout=10) as wire:
            assert len({ask(wire, one) for _ in range(3)}) == 1
        assert answer_to(either, one[:-1], one[-1:] + last).count(b"HTTP/1.1 200 ") == 2
        assert answer_to(either, one + last[:50], last[50:]).count(b"HTTP/1.1 200 ") == 2
        assert answer_to(either, one + b"!" + last).count(b"HTTP/1.1 400 ") == 1

    def test_a_head_that_came_before_of_a_chunked_body_is_not_kept(self, either: Server, parsed: list[bytes]) -> None:
        body = json.dumps(self.BODY).encode()
        head = (
            "POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        one = b"%b%x\r\n%b\r\n0\r\n\r\n" % (head.encode(), len(body), body)
        with socket.create_connection((either.host, either.port), timeout=10) as wire:
            assert {ask(wire, one)[:15] for _ in range(4)} == {b"HTTP/1.1 200 OK"}
        assert parsed == [head_of(one), *[one] * 4]

    def test_a_body_may_look_like_a_request(self, either: Server) -> None:
        inner = request_of(self.BODY).decode()
        with socket.create_connection((either.host, either.port), timeout=10) as wire:
            for _ in range(4):
                assert b"200 OK" in ask(wire, request_of({**self.BODY, "input": inner}))
        assert {exchange.request.body["input"] for exchange in either.api.open("sk-1").exchanges} == {inner}

    def test_their_answer_may_be_one_that_cannot_be_written_at_once(self, parsed: list[bytes]) -> None:
        one = request_of(self.BODY)
        late = pause(message("Late."), seconds=0.01)
        turns = [message("Sure.")] * 3 + [message(LONG), late, message("Sure.")]
        with serve_in_thread(MockApi(prepare=lambda mock: mock.script(*turns) and None)) as server:
            with socket.create_connection((server.host, server.port), timeout=10) as wire:
                sizes = [len(ask(wire, one)) for _ in turns]
                assert b"HTTP/1.1 418 " in ask(wire, one)
            assert server.api.request_count == len(turns) + 1
        assert sizes[0] == sizes[1] == sizes[2] == sizes[4] == sizes[5] < len(LONG) < sizes[3]
        assert len(parsed) == 1, "the first one"

    def test_a_fault_of_the_mock_is_an_answer_500(self, either: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        one = request_of(self.BODY)
        for _ in range(3):
            answer_to(either, one)

        def fail(*_: object) -> Answer:
            raise ValueError("no")

        monkeypatch.setattr(either.api, "handle", fail)
        assert answer_to(either, one).startswith(b"HTTP/1.1 500 ")


class TestAnAnswerThatIsStillToCome:
    ONE = request_of({"model": "gpt-4.1", "input": "hi"})
    LAST = request_of({"model": "gpt-4.1", "input": "hi"}, more="Connection: close\r\n")

    @pytest.fixture
    def wire(self, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[socket.socket]:
        """A connection to a server that knows the head of `ONE`, and takes its time to answer from then on."""
        monkeypatch.setattr(App, "answer", answering_later(chain(repeat(0.001, 3), repeat(0.4))))
        self.server: Server = request.getfixturevalue("server")
        with socket.create_connection((self.server.host, self.server.port), timeout=10) as wire:
            for _ in range(3):
                assert ask(wire, self.ONE).startswith(b"HTTP/1.1 200 ")
            yield wire

    def read_to_the_end(self, wire: socket.socket) -> bytes:
        received = b""
        while more := wire.recv(1 << 16):
            received += more
        return received

    def test_an_answer_that_is_still_to_come_is_followed_by_those_to_what_came_meanwhile(
        self, wire: socket.socket
    ) -> None:
        for piece in (self.ONE, self.ONE + self.ONE[:50], self.ONE[50:], self.LAST):
            wire.sendall(piece)
            time.sleep(0.02)
        assert self.read_to_the_end(wire).count(b"HTTP/1.1 200 ") == 4
        assert self.server.api.request_count == 7

    def test_an_answer_that_is_still_to_come_is_sent_before_the_server_ends(self, wire: socket.socket) -> None:
        wire.sendall(self.ONE)
        time.sleep(0.02)
        self.server._uvicorn.stop(force=False)
        assert is_whole(self.read_to_the_end(wire))

    def test_an_answer_that_is_still_to_come_is_dropped_when_its_client_leaves(self, wire: socket.socket) -> None:
        wire.sendall(self.ONE)
        time.sleep(0.02)
        wire.close()
        assert wait_until(lambda: not self.server._uvicorn.server_state.connections, seconds=3)
        assert self.server.api.request_count == 4

    def test_an_answer_that_is_still_to_come_does_not_make_its_connection_idle(self, wire: socket.socket) -> None:
        (connection,) = self.server._uvicorn.server_state.connections
        assert isinstance(connection, HttpConnection)
        wire.sendall(self.ONE)
        assert wait_until(lambda: bool(connection.exchanges), seconds=3)
        connection.idle_seconds = -1
        connection.loop.call_soon_threadsafe(connection.end_when_late)
        assert is_whole(wire.recv(1 << 16))

    def test_an_answer_that_is_still_to_come_may_be_one_that_cannot_be_made(
        self, wire: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> Answer:
            raise ValueError("no")

        monkeypatch.setattr(App, "deliver", fail)
        assert ask(wire, self.ONE).startswith(b"HTTP/1.1 500 ")


def set_timeout(connections: Any, seconds: int) -> None:
    (connection,) = connections
    assert isinstance(connection, HttpConnection)
    connection.idle_seconds = seconds
