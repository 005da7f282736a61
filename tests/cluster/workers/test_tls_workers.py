"""A server with several workers that speaks TLS: a key has one World, whatever its clients do to their connections."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from websockets.sync.client import connect

from tests.support.processes import children, wait_until
from tests.support.servers.live_server import Certificate, certificate
from tests.support.servers.served import Served, serving

pytestmark = pytest.mark.slow

ASK = {"model": "gpt-4.1", "input": "hi"}
HELD = {"script": [[{"message": "Once upon a time"}, {"pause": {"until": "never", "after": 3}}], "again"]}
QUICK = """
import harness.server.transport.connection, harness.cluster.workers.dispatcher
harness.server.transport.connection.REQUEST_SECONDS = harness.cluster.workers.dispatcher.HEAD_SECONDS = 1
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def trusting(made: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(made.file))


def secured(made: Certificate, patch: str = "") -> AbstractContextManager[Served]:
    """Return a server with two workers and this certificate."""
    return serving("--workers", "2", "--certificate", str(made.file), "--key", str(made.key), patch=patch)


@pytest.fixture(scope="module")
def served(made: Certificate) -> Iterator[Served]:
    with secured(made, QUICK) as running:
        yield running


class Client:
    """A client with a connection that it keeps."""

    def __init__(self, served: Served, trusting: ssl.SSLContext) -> None:
        self.connection = http.client.HTTPSConnection("127.0.0.1", served.port, context=trusting, timeout=20)

    def ask(self, key: str, path: str = "/v1/responses", **more: object) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = more if path != "/v1/responses" else {**ASK, **more}
        self.connection.request("POST", path, json.dumps(body), headers)
        return self.connection.getresponse()


@pytest.fixture
def client(served: Served, trusting: ssl.SSLContext) -> Iterator[Client]:
    made = Client(served, trusting)
    yield made
    made.connection.close()


def test_keys_that_share_a_connection_have_their_own_worlds(client: Client) -> None:
    last: dict[str, str] = {}
    for number in range(40):
        key = f"sk-mixed-{number % 5}"
        more = {"previous_response_id": last[key]} if key in last else {}
        answer = client.ask(key, **more)
        assert answer.status == 200
        last[key] = json.loads(answer.read())["id"]


def test_a_large_request_and_a_stream_go_through(client: Client) -> None:
    assert client.ask("sk-large", input="x" * 3_000_000).read().startswith(b'{"id":')
    assert b"response.completed" in client.ask("sk-large", stream=True).read()


def test_a_websocket_is_answered(served: Served, trusting: ssl.SSLContext) -> None:
    headers = {"Authorization": "Bearer sk-ws"}
    with connect(f"wss://127.0.0.1:{served.port}/v1/responses", additional_headers=headers, ssl=trusting) as wire:
        wire.send(json.dumps({"type": "response.create", **ASK}))
        while json.loads(wire.recv(10))["type"] != "response.completed":
            pass


def test_plain_http_is_told_to_use_tls(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("POST", "/v1/responses", json.dumps(ASK))
    answer = connection.getresponse()
    assert (answer.status, b"use https://" in answer.read()) == (400, True)
    connection.close()


def test_garbage_and_half_handshakes_do_no_harm(served: Served, client: Client) -> None:
    chance = random.Random(8)
    for _ in range(200):
        begin = chance.choice([b"", b"\x16\x03\x01", b"\x16\x03\x03\x00\x40", b"GET / HTTP/1.1\r\n", b"\x80\x2e\x01"])
        with served.say(begin + chance.randbytes(chance.randrange(600))):
            pass
    half = served.say(b"\x16\x03\x01\x02\x00\x01")
    assert client.ask("sk-garbage").status == 200
    assert half.recv(10) == b""
    half.close()


def test_half_a_request_is_refused_when_its_time_is_up(served: Served, trusting: ssl.SSLContext) -> None:
    with trusting.wrap_socket(served.say(), server_hostname="127.0.0.1") as wire:
        wire.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n")
        wire.settimeout(40)
        assert wire.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_worker_that_is_killed_cuts_its_answers(made: Certificate, trusting: ssl.SSLContext) -> None:
    with secured(made) as served:
        client = Client(served, trusting)
        client.ask("sk-cut", "/_harness/script", **HELD).read()
        stream = client.ask("sk-cut", stream=True)
        assert stream.read(1)
        workers = children(served.child.pid)
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises((http.client.IncompleteRead, ssl.SSLError)):
            stream.read()
        client.connection.close()
        assert wait_until(lambda: len(set(children(served.child.pid)) - set(workers)) == 2)
        again = Client(served, trusting)
        assert again.ask("sk-cut").status == 200
        again.connection.close()
        _, code, errors = served.end(signal.SIGTERM)
        assert (code, errors.count("is started again"), "Traceback" in errors) == (0, 2, False), errors


def test_clients_that_turn_the_certificate_down_are_told(made: Certificate, trusting: ssl.SSLContext) -> None:
    with secured(made) as served:
        other = Client(served, ssl.create_default_context())
        with pytest.raises(ssl.SSLCertVerificationError):
            other.ask("sk-none")
        other.connection.close()
        trusting.wrap_socket(served.say(), server_hostname="127.0.0.1").close()
        _, code, errors = served.end(signal.SIGTERM)
    assert (code, errors.count("a client turned down the certificate")) == (0, 2), errors


def test_answers_under_way_have_their_time_when_the_server_ends(made: Certificate, trusting: ssl.SSLContext) -> None:
    with secured(made) as served:
        client = Client(served, trusting)
        client.ask("sk-slow", "/_harness/script", script=[[{"message": "Late."}, {"delay": {"seconds": 1}}]]).read()
        client.connection.request(
            "POST",
            "/v1/responses",
            json.dumps(ASK),
            {"Authorization": "Bearer sk-slow", "Content-Type": "application/json"},
        )
        served.child.send_signal(signal.SIGTERM)
        assert client.connection.getresponse().status == 200
        client.connection.close()
        assert served.child.wait(20) == 0
