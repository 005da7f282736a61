"""Requests to a server over HTTP and TLS: complete answers, and deadlines that no server can extend."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from harness.live import http
from harness.live.http import HttpClient
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.support.servers.live_server import over_tls
from tests.support.servers.stalling import ENDLESS, SILENT, STUCK, TRICKLING, TRICKLING_HEAD, Stall, stalling


@contextmanager
def raw_server(answer: bytes) -> Iterator[str]:
    """Provide the base URL of a server that answers one request by these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer, args=(listening, answer), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(60)


def _answer(listening: socket.socket, answer: bytes) -> None:
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.recv(65536)
        connection.sendall(answer)


def test_a_server_over_tls_answers(tmp_path_factory: pytest.TempPathFactory) -> None:
    with over_tls(MockApi(fallback=small_talk), tmp_path_factory) as origin:
        reply = HttpClient(f"{origin}/v1", "sk-k", 5.0).send("GET", "/models", {"authorization": "Bearer sk-k"}, None)
    assert (reply.status, reply.fault, reply.recorded.host) == (200, "", "127.0.0.1")
    assert reply.interaction.answer


@pytest.mark.parametrize(
    ("stall", "status", "fault"),
    [
        (SILENT, 0, "no whole answer within 0.3 s"),
        (TRICKLING_HEAD, 0, "no whole answer within 0.3 s"),
        (STUCK, 200, "no whole answer within 0.3 s, after 9 bytes of it"),
        (TRICKLING, 200, "no whole answer within 0.3 s, after "),
    ],
    ids=["silent", "trickling head", "stuck", "trickling"],
)
def test_no_server_extends_the_deadline(stall: Stall, status: int, fault: str) -> None:
    with stalling(stall) as origin:
        reply = HttpClient(f"{origin}/v1", "k", 0.3).send("GET", "/x", {}, None)
    assert reply.status == status
    assert reply.fault.startswith(fault)
    assert bool(reply.interaction.answer) == bool(status)


def test_an_endless_answer_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 1 << 20)
    with stalling(ENDLESS) as origin:
        reply = HttpClient(f"{origin}/v1", "k", 30.0).send("GET", "/x", {}, None)
    assert reply.fault.startswith(f"the answer has more than {1 << 20} bytes")


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
