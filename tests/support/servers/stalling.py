"""Servers that never end an answer: each would hold a reader forever whose timeout is that of a single read."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
PAUSE_SECONDS = 0.05


class Stall(NamedTuple):
    """What a server sends: `begin` at once, then `piece` over and over, or nothing more without one."""

    begin: bytes = b""
    piece: bytes = b""
    pause: float = PAUSE_SECONDS


SILENT = Stall()
STUCK = Stall(OK + b"\r\ndata: 1\n\n")
TRICKLING_HEAD = Stall(OK, b"x: y\r\n")
TRICKLING = Stall(OK + b"\r\n", b": still here\n\n")
ENDLESS = Stall(OK + b"\r\n", b"x" * 65536, 0.0)


@contextmanager
def stalling(stall: Stall) -> Iterator[str]:
    """Provide the origin of a server on loopback that stalls so for each connection, and end them at the end."""
    stopped = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(stall.begin)
            while stall.piece and not stopped.wait(stall.pause):
                connection.sendall(stall.piece)
            stopped.wait()

    def accept() -> None:
        with suppress(OSError):  # the listening socket is closed
            while True:
                connection, _ = listening.accept()
                connection.settimeout(1.0)  # a client that reads no more must not hold this thread
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            stopped.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
