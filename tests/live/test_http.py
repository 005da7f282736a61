"""Requests to a server over HTTP and TLS: complete answers, and deadlines that no server can extend."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from harness.live.client.http import HttpClient
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.support.servers.live_server import over_tls


@contextmanager
def raw_server(*pieces: bytes, pause: float = 0.0) -> Iterator[str]:
    """Provide the base URL of a server that answers one request by these bytes, with pauses of so many seconds."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer, args=(listening, pieces, pause), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(60)


def _answer(listening: socket.socket, pieces: Sequence[bytes], pause: float) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(65536)
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
        except OSError:
            return


def test_a_server_over_tls_answers(tmp_path_factory: pytest.TempPathFactory) -> None:
    with over_tls(MockApi(fallback=small_talk), tmp_path_factory) as origin:
        reply = HttpClient(f"{origin}/v1", "sk-k", 5.0).send("GET", "/models", {"authorization": "Bearer sk-k"}, None)
    assert (reply.status, reply.fault, reply.recorded.host) == (200, "", "127.0.0.1")
    assert reply.interaction.answer


def test_headers_that_arrive_byte_by_byte_do_not_extend_the_deadline() -> None:
    began = time.monotonic()
    with raw_server(b"HTTP/1.1 200 OK\r\n", *[b"x: y\r\n"] * 600, pause=0.05) as url:
        reply = HttpClient(url, "k", 0.2).send("GET", "/x", {}, None)
        took = time.monotonic() - began
    assert (reply.status, reply.fault) == (0, "no whole answer within 0.2 s")
    assert took < 15  # all of them take 30 seconds


@pytest.mark.parametrize(
    ("answer", "status", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", 200, "the answer is cut off ("),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 200, "the answer is cut off ("),
        (b"", 0, "the answer is cut off ("),
        (b"hello\r\n\r\n", 0, "the answer is cut off ("),
    ],
)
def test_an_incomplete_answer_has_a_fault(answer: bytes, status: int, fault: str) -> None:
    with raw_server(answer) as url:
        reply = HttpClient(url, "k", 2.0).send("GET", "/x", {}, None)
    assert reply.status == status
    assert reply.fault.startswith(fault)
    assert "cut" in reply.recorded.flags


def test_repeated_headers_are_joined() -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\n{}") as url:
        reply = HttpClient(url, "k", 2.0).send("POST", "/a/../b?c=d e", {"x": " y "}, b"{}")
    assert (reply.recorded.path, reply.recorded.query) == ("/a/../b", {"c": "d e"})
    assert reply.recorded.answer_headers["x-a"] == "1, 2"
