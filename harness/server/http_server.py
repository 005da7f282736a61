"""The mock over HTTP: its API's requests, answered straight from the connection, and all others as an ASGI app."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from tempfile import gettempdir
from typing import Any, cast

import uvicorn

from harness.api.http import multipart
from harness.api.http.bodies import parse_query
from harness.core.delivery import SendRecord
from harness.core.errors import ConfigError, Problem
from harness.core.exchange import Answer, ReceivedRequest
from harness.core.headers import ENCODING
from harness.core.limits import MAX_BODY_SIZE
from harness.report.replace_file import describe_write_error
from harness.server.answering import describe_defect, teapot_answer
from harness.server.control_plane.access import LOOPBACK_ACCESS, ControlAccess, control_access
from harness.server.held_requests import HeldRequest, answer_held
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import HEALTH_PATH, METRICS_PATH, answer_health
from harness.server.tls.certificate import ServerContext
from harness.server.tls.handshake import TlsProtocol
from harness.server.transport.asgi_types import CONNECTION, EDGE, AsgiApp, Receive, Scope, Send
from harness.server.transport.connection import HttpConnection
from harness.server.transport.deliver import deliver, send_answer
from harness.server.transport.request_parser import RequestHead
from harness.server.transport.stoppable_server import StoppableServer
from harness.server.transport.upload_spool import read_form

DEFECT_FIX = "This is a defect of the harness: report it with the traceback that the server printed."


class App:
    """Answers API requests as a `Service`; as an ASGI app, everything else, and API requests of other servers.

    Paths below `/_harness` go to the control plane if `access` permits. `store` names where the Worlds are kept,
    `open_streams` counts the streams being sent in parts. `metrics` answers Prometheus. `close` is awaited in the
    serving event loop when the server ends.
    """

    store = "memory"
    open_streams = 0

    def __init__(self, api: MockApi, access: ControlAccess = LOOPBACK_ACCESS) -> None:
        self.api = api
        self.access = access
        self.metrics: Callable[[], Awaitable[Answer]] | None = None
        self._control_app: AsgiApp | None = None
        self._loading = threading.Lock()

    async def close(self) -> None:
        """Release what the app has opened."""

    async def _serve_control(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the control plane, which the first one loads, in a thread: others are served meanwhile."""
        app = self._control_app
        if app is None:
            app = await asyncio.to_thread(self._load_control_app)
        await app(scope, receive, send)

    def _load_control_app(self) -> AsgiApp:
        with self._loading:
            if self._control_app is None:
                # FastAPI takes longer to import than everything else, and most test runs never need it.
                from harness.server.control_plane.app import control_app

                self._control_app = control_app(self.api)
        return self._control_app

    def takes_whole(self, head: RequestHead) -> bool:
        """Return whether `answer` answers a request: any but a form, and not the control plane's."""
        path = head.target.path
        kind = head.texts.get("content-type", "")
        return not (is_control_path(path) or self._takes_form(head.method, path, kind))

    def _takes_form(self, method: str, path: str, content_type: str) -> bool:
        return content_type.startswith(multipart.CONTENT_TYPE) and self.api.takes_form(method, path)

    def answer(self, received: ReceivedRequest, edge: SendRecord | None) -> Answer | Awaitable[Answer]:
        """Answer a request that has arrived in full, at once unless it is held."""
        if received.method == "POST" and self.api.held.keys and (held := self.api.hold(received, edge)):
            return self._answer_held(held)
        return self.api.handle(received, edge=edge)

    async def _answer_held(self, held: HeldRequest) -> Answer:
        await held.done
        return answer_held(self.api.handle, held)

    async def deliver(self, answer: Answer, received: ReceivedRequest, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send an answer in parts."""
        self.open_streams += answer.events is not None
        try:
            await deliver(answer, receive, send)
        finally:
            self.open_streams -= answer.events is not None

    def note_failed(self, received: ReceivedRequest, problem: BaseException) -> None:
        """Record that a request was not answered, or not to its end, because of a defect of this server."""
        what = f"{received.method} {received.path}: {describe_defect(problem)}"
        self.api.note_failed(received, Problem(what, fix=DEFECT_FIX))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket of an ASGI server."""
        received = received_of(scope)
        if is_control_path(received.path):
            # Refusals are checked first, so they do not import the control plane, which many servers never load.
            answered = self.access.refuse(received.path, received.headers) or await self._answer_probe(scope)
            if answered is None or scope["type"] != "http":
                await self._serve_control(scope, receive, send)
            else:
                await send_answer(send, answered)
        elif scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
        elif whole := await self._read(received, receive):
            made = whole if isinstance(whole, Answer) else self.answer(whole, edge_of(scope))
            await self.deliver(made if isinstance(made, Answer) else await made, received, receive, send)

    async def _answer_probe(self, scope: Scope) -> Answer | None:
        """Answer what probes ask for all the time, without loading the control plane."""
        if scope.get("method") != "GET":
            return None
        if scope["path"] == METRICS_PATH:
            return await self.metrics() if self.metrics else None
        return answer_health(self.api, self.store) if scope["path"] == HEALTH_PATH else None

    async def _read(self, received: ReceivedRequest, receive: Receive) -> ReceivedRequest | Answer | None:
        """Read the body of a request, a large form to disk, or say why not; None if the client disconnects before."""
        kind = received.headers.get("content-type", "")
        try:
            is_form = self._takes_form(received.method, received.path, kind)
            read = await read_form(receive, kind if is_form else "", MAX_BODY_SIZE)
        except OSError as problem:
            why = f"an upload cannot be kept: {describe_write_error(problem)}"
            return teapot_answer(ConfigError(f"{why}. Free some space in {gettempdir()}, or set TMPDIR."))
        return None if read is None else received._replace(raw=read[0], form=read[1])

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        from harness.server.websocket.connection import refuse_upgrade, serve_session

        await receive()
        try:
            opened = self.api.open_session(received_of(scope))
            if isinstance(opened, Answer):
                await refuse_upgrade(opened, send)
            else:
                await serve_session(opened, receive, send, connection_of(scope))
        except OSError:  # raised by `send` once the client has left
            raise
        except Exception as problem:
            self.note_failed(received_of(scope), problem)
            raise


def is_control_path(path: str) -> bool:
    """Return whether a path is one of the control plane."""
    return path.startswith(CONTROL_ROOT) and f"{path}/".startswith(f"{CONTROL_ROOT}/")


def edge_of(scope: Scope) -> SendRecord | None:
    """Return the edge record of a request; None for requests that did not come over this server's own connections."""
    edge: SendRecord | None = scope.get("state", {}).get(EDGE)
    return edge


def connection_of(scope: Scope) -> int:
    """Return the number of the connection that has become a WebSocket, 0 if it is unknown."""
    number: int = scope.get("state", {}).get(CONNECTION, 0)
    return number


def received_of(scope: Scope) -> ReceivedRequest:
    """Return the request of a scope, without its body."""
    headers = {name.decode(ENCODING): value.decode(ENCODING) for name, value in scope["headers"]}
    query = parse_query(scope["query_string"]) if scope["query_string"] else {}
    return ReceivedRequest(scope.get("method", "GET"), scope["path"], headers, query)


def websocket_protocol(**arguments: Any) -> asyncio.Protocol:
    """Build the protocol of a WebSocket; it is imported on first use, as most servers never see one."""
    from harness.server.websocket.protocol import WebSocketProtocol

    return WebSocketProtocol(**arguments)


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
        keep_alive: bool,
        listening: socket.socket | None = None,
        access: ControlAccess | None = None,
        tls: ServerContext | None = None,
    ) -> None:
        self.api = api
        self._socket = listening or bind(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        app = App(api, access or control_access(host))
        self._scheme = "https" if tls else "http"
        self._uvicorn = StoppableServer(uvicorn_config(app, keep_alive=keep_alive, tls=tls))
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

    def stop(self) -> None:
        """Stop serving and wait for the thread to end."""
        self._uvicorn.stop()
        self._thread.join(10)

    def _run(self) -> None:
        self._uvicorn.run(sockets=[self._socket])


def origin_of(scheme: str, host: str, port: int) -> str:
    """Build the origin of a URL: `http://127.0.0.1:8765`."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def uvicorn_config(app: AsgiApp, *, keep_alive: bool = True, tls: ServerContext | None = None) -> uvicorn.Config:
    """Configure uvicorn for an app: it logs only its own errors and runs no lifespan; with `tls` it serves TLS.

    Without `keep_alive` each connection is closed after its answer. A test's event loop ends before the next test
    begins, and a client shared by both tests would find a pooled connection bound to a closed event loop, which it
    could neither use nor close.
    """
    protocol: Any = partial(HttpConnection, keep_alive=keep_alive)
    if isinstance(app, App):
        protocol = partial(protocol, service=app)
    return uvicorn.Config(
        cast("Any", app),
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


def bind(host: str, port: int) -> socket.socket:
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
