"""A real Redis server in a process of its own, and what may come between it and its clients."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.support.processes import free_port, is_listening, spawn, wait_until


@contextmanager
def serving_redis(*options: str, port: int | None = None) -> Iterator[int]:
    """`redis-server` on a free port, or on this one; it keeps nothing on disk."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    port = port or free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", *options]
    with spawn(command, cwd="/tmp"):
        assert wait_until(lambda: is_listening(port)), "redis-server does not listen"
        yield port


def say(port: int, *command: str) -> str:
    """Return what `redis-cli` prints for a command."""
    return subprocess.run(["redis-cli", "-p", str(port), *command], check=True, capture_output=True, text=True).stdout


class Wire:
    """A TCP server that passes all bytes on to one of `targets`, by turns, each piece `delay` seconds late."""

    def __init__(self, *targets: tuple[str, int], delay: float = 0) -> None:
        self.delay = delay
        self._targets = targets
        self._count = 0
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections off."""
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        """Accept no more, and break all connections off."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                target = self._targets[self._count % len(self._targets)]
                self._count += 1
                try:
                    server = socket.create_connection(target)
                except OSError:
                    client.close()
                    continue
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                time.sleep(self.delay)
                target.sendall(piece)
        for wire in (source, target):
            with suppress(OSError):
                wire.close()
