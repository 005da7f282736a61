"""What a client begins and does not end, or asks for twice over: it gets an answer in time, and nothing is kept."""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.support.servers.live_server import request_head
from tests.support.servers.served import Served, serving
from tests.support.slow import slow_except

BODY = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
STREAM = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()
AUTH = b"Authorization: Bearer sk-1\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + b"A" * 22
CONNECTIONS = 500
QUICK = "import harness.server.transport.connection as made; made.REQUEST_SECONDS = 1"
GATED = """
from harness.faults import pause
from harness.items import message
def script(request):
    return pause(message("Once"), until="never") if request.body.get("stream") else message("Sure.")
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that gives a request one second."""
    (script := tmp_path_factory.mktemp("script") / "gated.py").write_text(GATED)
    with serving("--script", str(script), patch=QUICK) as running:
        yield running


def said(wire: socket.socket) -> bytes:
    """Return all that is said until the connection is closed."""
    with wire:
        return b"".join(iter(lambda: wire.recv(65536), b""))


def is_open(wire: socket.socket) -> bool:
    """Return whether the server has not closed the connection; what it has said is passed over."""
    wire.setblocking(False)
    try:
        while wire.recv(65536):
            pass
    except BlockingIOError:
        return True
    return False


def head(*headers: bytes, start: bytes = b"POST /v1/responses HTTP/1.1") -> bytes:
    return b"\r\n".join([start, *headers, AUTH])


class TestHalfARequest:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "sent",
        slow_except(
            (0, 4),
            [
                b"",
                b"P",
                b"\r\n",
                b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nX-A: ",
                request_head(BODY) + BODY[:-1],
                b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            ],
        ),
        ids=["nothing", "a letter", "a line end", "a head", "a body", "a chunk"],
    )
    def test_half_a_request_is_refused_when_its_time_is_up(self, served: Served, sent: bytes) -> None:
        assert said(served.say(sent)).startswith(b"HTTP/1.1 408 ")

    @pytest.mark.slow
    def test_half_a_request_of_five_hundred_clients_leaves_nothing_open(self, served: Served) -> None:
        wires = [served.say(b"POST /v1/responses HTTP/1.1\r\nX-A: ") for _ in range(CONNECTIONS)]
        assert [said(wire)[:12] for wire in wires] == [b"HTTP/1.1 408"] * CONNECTIONS

    @pytest.mark.slow
    def test_half_a_request_that_grows_a_byte_at_a_time_is_refused_as_well(self, served: Served) -> None:
        with served.say(b"POST /v1/responses HTTP/1.1\r\nX-A: ") as wire:
            wire.settimeout(0.2)
            begun, answer = time.monotonic(), b""
            while not answer and time.monotonic() - begun < 30:
                wire.sendall(b"a")
                try:
                    answer = wire.recv(100)
                except TimeoutError:
                    continue
        assert answer.startswith(b"HTTP/1.1 408 ")

    @pytest.mark.slow
    def test_behind_a_whole_one_leaves_the_answer_to_that_alone(self, served: Served) -> None:
        """Two looks at the clock pass, as two slow clients that came later show."""
        with served.say(request_head(STREAM).replace(b"close", b"keep-alive") + STREAM + b"POST /v1") as wire:
            assert wire.recv(65536).startswith(b"HTTP/1.1 200 ")
            for _ in range(2):
                said(served.say(b"P"))
            assert is_open(wire)


class TestAnUpgrade:
    @pytest.mark.slow
    @pytest.mark.parametrize("to", [b"websocket", b"h2c"])
    def test_an_upgrade_of_a_post_means_nothing(self, served: Served, to: bytes) -> None:
        """Its body is read, and so is the request behind it; Java's client sends one with each request."""
        upgrading = request_head(BODY).replace(b"Connection: close\r\n", UPGRADE + b"==\r\n") + BODY
        answer = said(served.say(upgrading.replace(b"websocket", to) + request_head(BODY) + BODY))
        assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "headers",
        [b"X-Long: " + b"x" * 9000, b"\r\n".join([b"X: y"] * 200), b"Content-Length: 2"],
        ids=["a long header", "many headers", "a body"],
    )
    def test_an_upgrade_that_the_library_does_not_read_is_refused(self, served: Served, headers: bytes) -> None:
        asked = head(b"Host: x", UPGRADE + b"==", headers, start=b"GET /v1/responses HTTP/1.1") + b"\r\n"
        answer = said(served.say(asked + (b"{}" if b"Content-Length" in headers else b"")))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert answer.endswith(b"an address or a header of the handshake that is not ASCII.")


class TestTheHead:
    def test_the_head_with_two_hosts_is_refused(self, served: Served) -> None:
        answer = said(served.say(head(b"Host: a", b"Host: b", b"Content-Length: 0") + b"\r\n"))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(b"A request has one Host header, this one has several.")

    @pytest.mark.parametrize("body", [BODY, b"{"])
    def test_the_head_of_http_1_0_gets_a_length(self, served: Served, body: bytes) -> None:
        length = b"Content-Length: %d" % len(body)
        answer = said(served.say(head(length, start=b"POST /v1/responses HTTP/1.0") + b"\r\n" + body))
        before, _, after = answer.partition(b"\r\n\r\n")
        assert b"content-length: %d" % len(after) in before.lower()
        assert json.loads(after)

    @pytest.mark.slow
    def test_the_head_of_http_1_0_gets_a_stream_without_chunks(self) -> None:
        with serving() as own:
            length = b"Content-Length: %d" % len(STREAM)
            answer = said(own.say(head(length, start=b"POST /v1/responses HTTP/1.0") + b"\r\n" + STREAM))
        before, _, after = answer.partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in before.lower()
        assert after.startswith(b"event: response.created\n")
        assert after.endswith(b"}\n\n")
