"""TLS in front of workers carries what both sides say, at the pace of the slower one, and ends as they end."""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.workers.tls_relay import MOST_HELD, SecuredSocket, TlsRelay
from harness.server.tls.certificate import ServerCertificate, make_certificate
from harness.server.transport.deliver import disconnect

MUCH = b"0123456789abcdef" * 200_000


@pytest.fixture(scope="module")
def certificate() -> ServerCertificate:
    return make_certificate()


class Carried:
    """A client and a worker with a relay between them, which runs in a thread."""

    def __init__(self, certificate: ServerCertificate) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            raw = socket.create_connection(listening.getsockname(), 10)
            self.below = raw.dup()
            accepted, _ = listening.accept()
        accepted.setblocking(False)
        self._secured = SecuredSocket(accepted, certificate.context)
        self._own, self.worker = socket.socketpair()
        self.worker.settimeout(10)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        trusting = ssl.create_default_context(cadata=certificate.anchors.decode())
        self.client = trusting.wrap_socket(raw, server_hostname="127.0.0.1")

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            self.relay = TlsRelay(self._secured, self._own, selector)
            while not self.relay.has_ended:
                for key, _ in selector.select(10) or pytest.fail("the relay stands still"):
                    if not self.relay.has_ended:
                        key.data.pump()

    def close(self) -> None:
        for end in (self.client, self.below, self.worker):
            end.close()
        self._thread.join(10)
        assert self.relay.has_ended


@pytest.fixture
def carried(certificate: ServerCertificate) -> Iterator[Carried]:
    made = Carried(certificate)
    yield made
    made.close()


def read(wire: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (more := wire.recv(65536)):
        data += more
    return bytes(data)


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_much_goes_both_ways(carried: Carried) -> None:
    for sender, receiver in ((carried.client, carried.worker), (carried.worker, carried.client)):
        sending = beside(lambda sender=sender: sender.sendall(MUCH))
        assert read(receiver, len(MUCH)) == MUCH
        sending.join(10)


def test_little_is_kept_for_a_worker_that_does_not_read(carried: Carried) -> None:
    rest = memoryview(MUCH)
    carried.client.setblocking(False)
    with suppress(ssl.SSLWantWriteError):
        while rest:
            rest = rest[carried.client.send(rest[:65536]) :]
    carried.client.settimeout(10)
    carried.worker.sendall(b"early")
    assert read(carried.client, 5) == b"early"
    assert len(carried.relay._to_worker) <= 2 * MOST_HELD
    beside(lambda: carried.client.sendall(rest))
    assert read(carried.worker, len(MUCH)) == MUCH


def test_the_end_of_a_worker_is_that_of_the_connection(carried: Carried) -> None:
    carried.worker.sendall(MUCH[:1000])
    carried.worker.close()
    assert (read(carried.client, 2000), carried.client.recv(1)) == (MUCH[:1000], b"")


def test_the_end_of_a_client_is_told_to_the_worker(carried: Carried) -> None:
    carried.client.sendall(b"bye")
    carried.client.close()
    carried.below.close()
    assert (read(carried.worker, 3), carried.worker.recv(1)) == (b"bye", b"")


def test_a_worker_may_have_a_connection_reset(carried: Carried) -> None:
    worker = carried.worker
    transport = SimpleNamespace(get_extra_info=lambda _: worker, abort=worker.close)
    carried.client.sendall(b"x")
    read(worker, 1)
    disconnect(cast("Any", SimpleNamespace(__self__=SimpleNamespace(transport=transport))), resets=True)
    with pytest.raises(ConnectionResetError):
        list(iter(lambda: carried.below.recv(65536), b""))
