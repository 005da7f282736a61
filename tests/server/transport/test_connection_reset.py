"""A client that resets its connection while streams are on the way leaves no trace on the server's stderr."""

import signal
import socket
import struct
import sys

import pytest

from tests.support.processes import free_port, is_listening, spawn, wait_until

CONNECTIONS = 100
STREAMS = 2
"""Streams that are asked for at once on each connection."""
BODY = b'{"model": "gpt-4.1", "input": "hi", "stream": true}'
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)
ASKED = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-reset\r\n" + LENGTH + BODY


def reset(port: int, *, reads: bool) -> None:
    """Ask for streams and reset the connection, before anything or after the first bytes were read."""
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.settimeout(30)
        wire.connect(("127.0.0.1", port))
        wire.sendall(ASKED * STREAMS)
        if reads:
            wire.recv(100)


@pytest.mark.slow
def test_200_pipelined_streams_that_are_reset_print_nothing() -> None:
    port = free_port()
    with spawn([sys.executable, "-m", "harness", "serve", "--port", str(port)]) as server:
        assert wait_until(lambda: is_listening(port), 30)
        for number in range(CONNECTIONS):
            reset(port, reads=bool(number % 2))
        with socket.create_connection(("127.0.0.1", port), 30) as wire:
            wire.sendall(ASKED)
            assert wire.recv(100).startswith(b"HTTP/1.1 200 ")
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=30)
    assert "Traceback" not in errors
    assert "Exception in callback" not in errors
