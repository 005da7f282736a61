"""The mock over HTTP: a lean ASGI app for the API's paths, the FastAPI control plane beside it, uvicorn around both."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import cached_property, partial
from tempfile import gettempdir
from typing import Any, cast

import uvicorn

from harness.api.http import multipart
from harness.api.http.body import parse_query
from harness.core.delivery import EdgeRecord
from harness.core.errors import ConfigError, Problem
from harness.core.exchange import Answer, ReceivedRequest
from harness.fast_path import is_enabled
from harness.fast_path.joined_writes import JoinedWrites
from harness.fast_path.posts_at_once import Awaited, PostsAtOnce
from harness.report.replace_file import describe_write_error
from harness.server.answering import describe_defect, teapot_answer
from harness.server.control_plane.access import LOOPBACK_ACCESS, ControlAccess, control_access
from harness.server.held_requests import answer_held
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import HEALTH_PATH, METRICS_PATH, answer_health
from harness.server.tls.context import ServerContext
from harness.server.tls.protocol import TlsProtocol
from harness.server.transport.asgi_types import CONNECTION, EDGE, AsgiApp, Receive, Scope, Send
from harness.server.transport.connection import HttpConnection
from harness.server.transport.deliver import carry_out, send_answer
from harness.server.transport.presence import Presence
from harness.server.transport.stoppable_server import StoppableServer, end_when_cancelled
from harness.server.transport.upload_spool import read_form

DEFECT_FIX = "This is a defect of the harness: report it with the traceback that the server printed."
STARTING_SECONDS = 5.0
"""Seconds a server has to start."""
MAX_BODY_SIZE = 512 * 1024 * 1024
"""Bytes of a body beyond which the rest is not read; the documented limit of a request's payload."""


class App:
    """The ASGI app: paths below `/_harness` go to the control plane if `access` permits, all others to the mock.

    `store` names where the Worlds are kept, `open_streams` counts the streams being sent over ASGI. `metrics` answers
    Prometheus. `close` is awaited in the serving event loop when the server ends.
    """

    store = "memory"
    open_streams = 0

    def __init__(self, api: MockApi, access: ControlAccess = LOOPBACK_ACCESS) -> None:
        self.api = api
        self.access = access
        self.metrics: Callable[[], Awaitable[Answer]] | None = None

    async def close(self) -> None:
        """Release what the app has opened."""

    @cached_property
    def _control_plane(self) -> AsgiApp:
        # FastAPI takes longer to import than everything else, and most test runs never need it.
        from harness.server.control_plane.app import control_app

        return control_app(self.api)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket."""
        if f"{scope['path']}/".startswith(f"{CONTROL_ROOT}/"):
            headers, _ = _headers_and_query(scope)
            # Refusals are checked first, so they do not import the control plane, which many servers never load.
            answered = self.access.refuse(scope["path"], headers) or await self._answer_quickly(scope)
            await (
                send_answer(send, answered)
                if answered and scope["type"] == "http"
                else self._control_plane(scope, receive, send)
            )
        elif scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
        else:
            answer = await self._answer(scope, receive)
            if answer is not None:
                await self._carry_out(answer, scope, receive, send)

    async def send_made(self, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """Send an answer that is ready, after reading the request, whose body has arrived in full."""
        await receive()
        await self._carry_out(answer, scope, receive, send)

    async def _carry_out(self, answer: Answer, _scope: Scope, receive: Receive, send: Send) -> None:
        self.open_streams += answer.events is not None
        try:
            await carry_out(answer, receive, send)
        finally:
            self.open_streams -= answer.events is not None

    def note_failed(self, scope: Scope, problem: BaseException) -> None:
        """Record that a request was not answered, or not to its end, because of a defect of this server."""
        received = ReceivedRequest(scope.get("method", "GET"), scope["path"], *_headers_and_query(scope))
        what = f"{received.method} {received.path}: {describe_defect(problem)}"
        self.api.note_failed(received, Problem(what, fix=DEFECT_FIX))

    async def _answer_quickly(self, scope: Scope) -> Answer | None:
        """Answer what probes ask for all the time, without loading the control plane."""
        if scope.get("method") != "GET":
            return None
        if scope["path"] == METRICS_PATH:
            return await self.metrics() if self.metrics else None
        return answer_health(self.api, self.store) if scope["path"] == HEALTH_PATH else None

    def answer_post(
        self, path: str, headers: Mapping[str, str], body: bytes, edge: EdgeRecord
    ) -> Answer | Awaited | None:
        """Answer a POST without a query whose body has arrived in full.

        None for forms and for paths below `/_harness`.
        """
        if needs_asgi(path, headers):
            return None
        received = ReceivedRequest("POST", path, headers, raw=body)
        if self.api.held.keys and (held := self.api.hold(received, edge)):
            return Awaited(held.done, partial(answer_held, self.api.handle, held))
        return self.api.handle(received, edge=edge)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | None:
        """Answer a request; None if the client disconnects before it has sent the whole body."""
        method, path, (headers, query) = scope["method"], scope["path"], _headers_and_query(scope)
        kind, edge = headers.get("content-type", ""), edge_of(scope)
        if not (kind.startswith(multipart.CONTENT_TYPE) and self.api.takes_form(method, path)):
            body = await read_body(receive)
            if body is None:
                return None
            received = ReceivedRequest(method, path, headers, query, body)
            if method == "POST" and self.api.held.keys and (held := self.api.hold(received, edge)):
                await held.done
                return answer_held(self.api.handle, held)
            return self.api.handle(received, edge=edge)
        try:
            read = await read_form(receive, kind, MAX_BODY_SIZE)
        except OSError as problem:
            why = f"an upload cannot be kept: {describe_write_error(problem)}"
            return teapot_answer(ConfigError(f"{why}. Free some space in {gettempdir()}, or set TMPDIR."))
        if read is None:
            return None
        return self.api.handle(ReceivedRequest(method, path, headers, query, *read), edge=edge)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        from harness.server.websocket.connection import refuse_upgrade, serve_session

        await receive()
        try:
            opened = self.api.open_session(ReceivedRequest("GET", scope["path"], *_headers_and_query(scope)))
            if isinstance(opened, Answer):
                await refuse_upgrade(opened, send)
            else:
                await serve_session(opened, receive, send, connection_of(scope))
        except OSError:  # raised by `send` once the client has left
            raise
        except Exception as problem:
            self.note_failed(scope, problem)
            raise


def needs_asgi(path: str, headers: Mapping[str, str]) -> bool:
    """Return whether a POST has a form or is for the control plane."""
    return path.startswith(CONTROL_ROOT) or headers.get("content-type", "").startswith(multipart.CONTENT_TYPE)


def edge_of(scope: Scope) -> EdgeRecord | None:
    """Return the edge record of a request; None for requests that did not come over this server's own connections."""
    edge: EdgeRecord | None = scope.get("state", {}).get(EDGE)
    return edge


def connection_of(scope: Scope) -> int:
    """Return the number of the connection that has become a WebSocket, 0 if it is unknown."""
    number: int = scope.get("state", {}).get(CONNECTION, 0)
    return number


def _headers_and_query(scope: Scope) -> tuple[dict[str, str], dict[str, str | list[str]]]:
    """Decode the headers and parse the query of a request."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return headers, parse_query(scope["query_string"]) if scope["query_string"] else {}


def websocket_protocol(**arguments: Any) -> asyncio.Protocol:
    """Build the protocol of a WebSocket; it is imported on first use, as most servers never see one."""
    from harness.server.websocket.protocol import WebSocketProtocol

    return WebSocketProtocol(**arguments)


async def read_body(receive: Receive) -> bytes | None:
    """Read a request's body; None if the client disconnects before it has sent the whole body."""
    body, more = bytearray(), True
    while more and len(body) <= MAX_BODY_SIZE:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        received: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        if not (more or body):  # most bodies come in one message
            return received
        body += received
    return bytes(body)


class Server:
    """A server running in a thread of this process; `base_url` is the URL for clients.

    It listens on `listening` if given, otherwise on a socket of its own; with `tls` it speaks only TLS.
    """

    def __init__(
        self,
        api: MockApi,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        keep_alive: bool = True,
        listening: socket.socket | None = None,
        access: ControlAccess | None = None,
        tls: ServerContext | None = None,
    ) -> None:
        self.api = api
        self._socket = listening or bind(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        app = App(api, access or control_access(host))
        self._scheme = "https" if tls else "http"
        self._presence = None if keep_alive else Presence()
        self._uvicorn = StoppableServer(uvicorn_config(app, keep_alive=keep_alive, tls=tls, presence=self._presence))
        self._uvicorn.at_end = app.close
        self._thread = threading.Thread(target=self._run, name="responses-harness", daemon=True)

    @property
    def base_url(self) -> str:
        """The API's root: `http://127.0.0.1:PORT/v1`."""
        return f"{origin_of(self._scheme, self.host, self.port)}/v1"

    def start(self) -> Server:
        """Start the thread and return the server; its socket is listening already, so early connections wait."""
        self._thread.start()
        return self

    def ask(self, received: ReceivedRequest, if_plain: Callable[[], bool]) -> Answer | None:
        """Answer a request of this process without a connection; None if `if_plain` fails or the server is not running.

        The request is handled in the server's thread like all others, or in the calling thread while no client is
        connected. `if_plain` is called in that same thread, so no other request can change what it checks.
        """
        # Waiting for the server's event loop inside that loop would never end.
        if threading.current_thread() is self._thread:
            return None

        def handle() -> Answer | None:
            return self.api.handle(received) if if_plain() else None

        if self._presence and (answer := self._presence.call_alone(handle)):
            return answer
        made = Future[Answer | None]()
        try:
            loop = self._uvicorn.serving.result(STARTING_SECONDS)
            loop.call_soon_threadsafe(lambda: made.set_result(handle()))
        except (RuntimeError, TimeoutError):  # the event loop has ended, or did not start
            return None
        return made.result()

    def stop(self) -> None:
        """Stop serving and wait for the thread to end."""
        self._uvicorn.stop()
        self._thread.join(10)

    def _run(self) -> None:
        self._uvicorn.run(sockets=[self._socket])


def origin_of(scheme: str, host: str, port: int) -> str:
    """Build the origin of a URL: `http://127.0.0.1:8765`."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def uvicorn_config(
    app: AsgiApp, *, keep_alive: bool = True, tls: ServerContext | None = None, presence: Presence | None = None
) -> uvicorn.Config:
    """Configure uvicorn for an app: it logs only its own errors and runs no lifespan; with `tls` it serves TLS.

    Without `keep_alive` each connection is closed after its answer. A test's event loop ends before the next test
    begins, and a client shared by both tests would find a pooled connection bound to a closed event loop, which it
    could neither use nor close.
    """
    options = connection_options(app, is_fast=keep_alive)
    protocol: Any = partial(HttpConnection, keep_alive=keep_alive, presence=presence, **options)
    return uvicorn.Config(
        cast("Any", end_when_cancelled(app)),
        http=cast("Any", partial(TlsProtocol, make_protocol=protocol, context=tls)) if tls else protocol,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws=cast("Any", websocket_protocol),
        ws_max_size=MAX_BODY_SIZE,
        ws_per_message_deflate=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
    )


def connection_options(app: AsgiApp, *, is_fast: bool = True) -> dict[str, Any]:
    """Return the arguments of a server's connections; those that make them fast change no answer."""
    mock = app if isinstance(app, App) else None
    options: dict[str, Any] = {"on_failed": mock.note_failed} if mock else {}
    if is_fast and is_enabled():
        options["join_writes"] = JoinedWrites
        options["answer_at_once"] = PostsAtOnce(mock.answer_post, mock.send_made).answer if mock else None
    return options


Listening = socket.socket
"""A listening socket."""


def bind(host: str, port: int) -> Listening:
    """Open a listening socket; port 0 picks a free one. ConfigError if the address cannot be bound."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with contextlib.ExitStack() as unless_bound:
            made = unless_bound.enter_context(socket.socket(family))
            # Otherwise a restarted server could not bind its port for a minute, while old connections linger.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, port))
            unless_bound.pop_all()
    except (OSError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(
            f"cannot listen on {host}:{port}: {why}. Choose another --port, or 0 for a free one."
        ) from problem
    made.listen(2048)
    return made


@contextlib.contextmanager
def serve_in_thread(
    api: MockApi,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    keep_alive: bool = True,
    access: ControlAccess | None = None,
    tls: ServerContext | None = None,
) -> Iterator[Server]:
    """Run a server for the duration of a `with` block."""
    server = Server(api, host, port, keep_alive=keep_alive, access=access, tls=tls).start()
    try:
        yield server
    finally:
        server.stop()
