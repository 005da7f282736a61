"""What no part of the API takes is refused, holds nothing up, and waits for the answers that are due before."""

import json
import signal
import socket
from collections.abc import Iterator

import pytest

from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.world.mock import Mock
from tests.support.servers.live_server import recorded, request_head
from tests.support.servers.served import serving
from tests.support.slow import slow_except

CONNECT = b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nProxy-Connection: Keep-Alive\r\n\r\n"
UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-server\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
ASK = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
LONG = 8_000_000
REFUSED = b"HTTP/1.1 400 Bad Request\r\n"


def said(wire: socket.socket) -> bytes:
    """Return all that is said until the connection is closed."""
    with wire:
        wire.settimeout(20)
        return b"".join(iter(lambda: wire.recv(65536), b""))


def ask(port: int, *parts: bytes) -> bytes:
    """Return what a server on this port says to these bytes."""
    wire = socket.create_connection(("127.0.0.1", port), 20)
    for part in parts:
        wire.sendall(part)
    return said(wire)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=small_talk)) as running:
        yield running


class TestConnect:
    """What a client sends first that has the mock for its `HTTPS_PROXY`."""

    @pytest.mark.slow
    def test_connect_is_refused_by_a_server_which_then_ends_at_a_signal(self) -> None:
        with serving() as served:
            answer = said(served.say(CONNECT))
            assert answer.startswith(REFUSED)
            assert answer.endswith(b"\r\n\r\nInvalid HTTP request received.")
            assert ask(served.port, request_head(ASK) + ASK).startswith(b"HTTP/1.1 200 ")
            assert served.end(signal.SIGTERM)[1] == 0

    @pytest.mark.timeout(30)
    @pytest.mark.parametrize("keep_alive", [True, False])
    def test_connect_is_refused_by_the_server_of_a_test(self, keep_alive: bool) -> None:
        with serve_in_thread(MockApi(), keep_alive=keep_alive) as server:
            assert ask(server.port, CONNECT).startswith(REFUSED)
            assert ask(server.port, request_head(ASK) + ASK).startswith(b"HTTP/1.1 418 ")

    @pytest.mark.timeout(30)
    def test_connect_is_refused_by_a_recorder_and_not_recorded(self, server: Server) -> None:
        with recorded(server.base_url) as front:
            port = int(front.origin.rpartition(":")[2])
            assert ask(port, CONNECT).startswith(REFUSED)
            assert ask(port, request_head(ASK) + ASK).startswith(b"HTTP/1.1 200 ")
            assert [interaction.method for interaction in front.interactions()] == ["POST"]

    @pytest.mark.timeout(30)
    def test_behind_a_request_is_refused_behind_its_answer(self, server: Server) -> None:
        kept = request_head(ASK).replace(b"Connection: close\r\n", b"") + ASK
        answer = ask(server.port, kept + CONNECT)
        assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"400"]

    @pytest.mark.timeout(30)
    def test_with_an_address_of_the_api_is_a_method_that_this_has_not(self, server: Server) -> None:
        sent = b"CONNECT /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\n\r\n"
        answer = ask(server.port, sent + b"what belongs to a tunnel")
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b"\r\nconnection: close\r\n" in answer


def tell_long(mock: Mock) -> None:
    mock.script(*[message("x" * LONG)] * 20)


@pytest.fixture(scope="module")
def telling() -> Iterator[Server]:
    """A server whose answers are 8 MB long."""
    with serve_in_thread(MockApi(prepare=tell_long)) as running:
        yield running


class TestARefusal:
    """What is refused behind a request that is not answered yet waits for its answer."""

    KEPT = request_head(ASK).replace(b"Connection: close\r\n", b"") + ASK

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize("apart", slow_except([0], [True, False]), ids=["apart", "in one write"])
    @pytest.mark.parametrize(
        ("behind", "status"),
        [
            (b"what is no request\r\n\r\n", b"400"),
            (CONNECT, b"400"),
            (b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
            (b"POST /v1/responses HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size", b"400"),
            (UPGRADE, b"101"),
        ],
        ids=["no request", "CONNECT", "two hosts", "a broken body", "an upgrade"],
    )
    def test_a_refusal_is_not_in_the_middle_of_it(
        self, telling: Server, behind: bytes, status: bytes, apart: bool
    ) -> None:
        wire = socket.create_connection((telling.host, telling.port), 20)
        wire.sendall(self.KEPT if apart else self.KEPT + behind)
        if apart:
            assert wire.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 200"
            wire.sendall(behind)
        with wire:
            wire.settimeout(20)
            answer = b""
            while b"\r\n\r\nHTTP/1.1 " not in answer.replace(b"}HTTP", b"}\r\n\r\nHTTP") and (
                more := wire.recv(1 << 20)
            ):
                answer += more
        head, _, rest = answer.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].split()[0])
        assert json.loads(rest[:size])["output"][0]["content"][0]["text"] == "x" * LONG
        assert rest[size : size + 12] == b"HTTP/1.1 " + status
