"""Servers of HTTP and of WebSockets that answer as a function of a test says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from websockets.sync.server import serve

Reply = tuple[int, dict[str, str], bytes]
"""The status, the headers and the body."""
JSON = {"content-type": "application/json"}


class Handler(BaseHTTPRequestHandler):
    """Answers whatever the test's function says to the method, the path, the headers and the body."""

    answer: Callable[[str, str, Any, bytes], Reply]

    def _do(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, headers, body = type(self).answer(self.command, self.path, self.headers, raw)
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


for _method in ("GET", "POST", "PUT", "DELETE"):
    setattr(Handler, f"do_{_method}", Handler._do)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def server(answer: Callable[[str, str, Any, bytes], Reply]) -> Iterator[str]:
    """Provide the base URL of a server that answers so."""
    with running(type("Own", (Handler,), {"answer": staticmethod(answer)})) as url:
        yield f"{url}/v1"


@contextmanager
def running(handler: type[Handler]) -> Iterator[str]:
    """Provide the origin of a server."""
    made = _Quiet(("127.0.0.1", 0), handler)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        made.server_close()


@contextmanager
def over_sockets(talk: Callable[[Any], None], refuse: int | None = None) -> Iterator[str]:
    """Provide the base URL of a server that talks so over each WebSocket, or refuses all with a status."""

    def check(connection: Any, request: Any) -> Any:
        return None if refuse is None else connection.respond(refuse, "No.\n")

    with serve(talk, "127.0.0.1", 0, process_request=check) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.socket.getsockname()[1]}/v1"
        made.shutdown()
