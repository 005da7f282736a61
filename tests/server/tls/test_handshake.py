"""A server that speaks TLS: requests, sockets and faults as over plain http, and clients that do not speak it well."""

import contextlib
import http.client
import json
import random
import socket
import ssl
import struct
import time
from collections.abc import Iterator

import openai
import pytest
from websockets.sync.client import connect

from harness.faults import cut, hang_up
from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.tls import handshake
from harness.server.tls.certificate import ServerCertificate, make_certificate
from harness.server.tls.handshake import TlsProtocol
from harness.unscripted.default_model import small_talk
from harness.world.mock import Mock
from tests.support.processes import wait_until

KEY = "sk-tls"
ASK = {"model": "gpt-4.1", "input": "hi"}


@pytest.fixture(scope="module")
def certificate() -> ServerCertificate:
    return make_certificate()


@pytest.fixture(scope="module")
def server(certificate: ServerCertificate) -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=small_talk), tls=certificate.context) as running:
        yield running


@pytest.fixture
def trusting(certificate: ServerCertificate) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.anchors.decode())


@pytest.fixture
def reported(certificate: ServerCertificate, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is reported of clients while a test runs."""
    told: list[str] = []
    monkeypatch.setattr(certificate.context, "report", told.append)
    monkeypatch.setattr(certificate.context, "reported", set())
    return told


@pytest.fixture
def client(server: Server, trusting: ssl.SSLContext) -> Iterator[openai.OpenAI]:
    http_client = openai.DefaultHttpxClient(verify=trusting)
    with openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0, http_client=http_client) as made:
        yield made


def answers(server: Server, trusting: ssl.SSLContext) -> bool:
    """Return whether the server still answers."""
    connection = http.client.HTTPSConnection(server.host, server.port, context=trusting, timeout=10)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/responses", json.dumps(ASK), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return True
    finally:
        connection.close()


def test_requests_and_streams_are_answered(server: Server, client: openai.OpenAI) -> None:
    assert server.base_url.startswith("https://127.0.0.1:")
    first = client.responses.create(**ASK)
    events = list(client.responses.create(**ASK, previous_response_id=first.id, stream=True))
    assert events[-1].type == "response.completed"


def test_a_websocket_is_answered(server: Server, trusting: ssl.SSLContext) -> None:
    uri = server.base_url.replace("https", "wss") + "/responses"
    with connect(uri, additional_headers={"Authorization": f"Bearer {KEY}"}, ssl=trusting) as wire:
        wire.send(json.dumps({"type": "response.create", **ASK}))
        while json.loads(wire.recv(10))["type"] != "response.completed":
            pass


def test_no_ticket_follows_the_handshake(server: Server, trusting: ssl.SSLContext) -> None:
    """A client that reads and sends in two threads may lose its connection at one."""
    plain = socket.create_connection((server.host, server.port), 10)
    with trusting.wrap_socket(plain, server_hostname=server.host) as wire:
        wire.sendall(b"GET /_harness/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert wire.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert wire.session is not None
        assert not wire.session.has_ticket


def test_an_answer_may_be_cut(server: Server, client: openai.OpenAI) -> None:
    with client.with_options(api_key="sk-cut") as other:
        other.models.list()
        Mock(server.api.worlds["sk-cut"]).script(cut(message("Once upon a time"), after=2))
        with pytest.raises(openai.APIConnectionError) as caught:
            list(other.responses.create(**ASK, stream=True))
    assert "peer closed" in str(caught.value.__cause__)


def test_a_connection_may_be_reset(server: Server, client: openai.OpenAI, trusting: ssl.SSLContext) -> None:
    with client.with_options(api_key="sk-reset") as other:
        other.models.list()
    Mock(server.api.worlds["sk-reset"]).script(hang_up(reset=True))
    with socket.create_connection((server.host, server.port), 10) as wire:
        below = wire.dup()  # Python's client of TLS makes no difference between an end and a reset
        with trusting.wrap_socket(wire, server_hostname=server.host) as secured, below:
            body = json.dumps(ASK).encode()
            secured.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-reset\r\n")
            secured.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            with pytest.raises(ConnectionResetError):
                list(iter(lambda: below.recv(65536), b""))


def test_plain_http_is_refused_with_the_https_address(server: Server, trusting: ssl.SSLContext) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    connection.request("POST", "/v1/responses", b"x" * 1_000_000)
    answer = connection.getresponse()
    assert (answer.status, b"use https://" in answer.read()) == (400, True)
    connection.close()
    assert answers(server, trusting)


def test_tls_is_refused_where_plain_http_is_spoken() -> None:
    with serve_in_thread(MockApi()) as plain:
        connection = http.client.HTTPSConnection(plain.host, plain.port, timeout=10)
        with pytest.raises(ssl.SSLError):
            connection.request("GET", "/v1/models")
        connection.close()


def test_a_client_that_turns_the_certificate_down_is_reported_once(
    server: Server, trusting: ssl.SSLContext, reported: list[str]
) -> None:
    for _ in range(2):
        connection = http.client.HTTPSConnection(server.host, server.port, context=ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError):
            connection.request("GET", "/v1/models")
        connection.close()
    assert answers(server, trusting)  # so it has read what the others said
    assert wait_until(lambda: bool(reported))
    assert [text.partition(".")[0] for text in reported] == [
        "a client rejected the certificate of this server (unknown ca)"
    ]


def test_a_client_that_leaves_after_the_handshake_is_reported(
    server: Server, trusting: ssl.SSLContext, reported: list[str]
) -> None:
    with socket.create_connection((server.host, server.port), 10) as wire:
        trusting.wrap_socket(wire, server_hostname=server.host).close()
    assert wait_until(lambda: any("right after it, as Node does" in text for text in reported))


def test_a_client_that_asks_is_not_reported(server: Server, client: openai.OpenAI, reported: list[str]) -> None:
    client.responses.create(**ASK)
    client.close()
    time.sleep(0.05)
    assert not reported


def test_garbage_does_no_harm(server: Server, trusting: ssl.SSLContext, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(8)
    for _ in range(200):
        begin = chance.choice([b"", b"\x16\x03\x01", b"\x16\x03\x03\x00\x40", b"GET / HTTP/1.1\r\n", b"\x80\x2e\x01"])
        with socket.create_connection((server.host, server.port), 10) as wire:
            wire.sendall(begin + chance.randbytes(chance.randrange(600)))
            if chance.random() < 0.3:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert answers(server, trusting)
    assert capfd.readouterr() == ("", "")


def test_handshakes_that_stand_still_hold_nobody_up(server: Server, trusting: ssl.SSLContext) -> None:
    wires = [socket.create_connection((server.host, server.port), 10) for _ in range(50)]
    try:
        for wire in wires:
            wire.sendall(b"\x16\x03\x01\x02\x00\x01")
        begun = time.monotonic()
        assert answers(server, trusting)
        assert time.monotonic() - begun < 5
    finally:
        for wire in wires:
            wire.close()


def test_a_handshake_has_its_time_and_ends_with_the_server(
    certificate: ServerCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_in_thread(MockApi(), tls=certificate.context) as running:
        monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 0.1)
        with socket.create_connection((running.host, running.port), 10) as slow:
            assert slow.recv(1) == b""
        monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 60)
        waiting = socket.create_connection((running.host, running.port), 10)
        waiting.sendall(b"\x16\x03\x01\x02\x00\x01")
    with waiting, contextlib.suppress(ConnectionResetError):  # as the event loop has it
        assert waiting.recv(1) == b""


def test_a_handshake_that_has_ended_is_not_waited_for(server: Server, trusting: ssl.SSLContext) -> None:
    def has_handshakes() -> bool:
        return any(isinstance(each, TlsProtocol) for each in server._uvicorn.server_state.connections.copy())

    socket.create_connection((server.host, server.port), 10).close()
    connection = http.client.HTTPSConnection(server.host, server.port, context=trusting, timeout=10)
    connection.request("GET", "/_harness/health")
    with contextlib.closing(connection), connection.getresponse() as answer:
        assert answer.status == 200
        assert wait_until(lambda: not has_handshakes())


def test_a_handshake_may_come_byte_by_byte(server: Server, trusting: ssl.SSLContext) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(incoming, outgoing, server_hostname=server.host)
    with socket.create_connection((server.host, server.port), 10) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    wire.sendall(bytes([byte]))
                incoming.write(wire.recv(65536))
        client.write(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-tls\r\n\r\n")
        wire.sendall(outgoing.read())
        said = b""
        while b"200 OK" not in said:
            incoming.write(wire.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                said += client.read(65536)
