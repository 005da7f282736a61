"""A server whose address is known at once, and which starts on the first connection.

Only a socket is bound up front, so a run without requests pays nothing: the server and its imports come later.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.server.http_server import Server
    from harness.server.mock_api import MockApi

HOST = "127.0.0.1"
BACKLOG = 2048


class OnDemandServer:
    """A listening socket and the server started for it.

    Connections are not kept alive, early ones wait in the backlog.
    """

    def __init__(self, make_api: Callable[[], MockApi]) -> None:
        self._make_api = make_api
        self._listening = socket.create_server((HOST, 0), backlog=BACKLOG)
        self._waker, self._woken = socket.socketpair()
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._watcher = threading.Thread(target=self._watch, name="responses-harness-watcher", daemon=True)
        self.base_url = f"http://{HOST}:{self._listening.getsockname()[1]}/v1"
        self._watcher.start()

    def start(self) -> Server:
        """Start the server unless it is running already, and return it."""
        from harness.server.http_server import Server

        with self._lock:
            if self._server is None:
                self._server = Server(self._make_api(), keep_alive=False, listening=self._listening).start()
                self._waker.send(b".")
            return self._server

    def stop(self) -> None:
        """Stop serving and release the address."""
        self._waker.close()
        self._watcher.join()
        self._woken.close()
        if self._server is not None:
            self._server.stop()
        self._listening.close()

    def _watch(self) -> None:
        """Start the server on the first connection; return without one if it was started otherwise or stopped."""
        readable, _, _ = select.select([self._listening, self._woken], [], [])
        if self._woken in readable:
            return
        try:
            self.start()
        except BaseException:
            self._listening.close()  # otherwise the client would wait forever
            raise
