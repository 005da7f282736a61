"""The ASGI app of a server that shares its Worlds with others through a store."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, cast

from harness.core.delivery import Delivery, SendRecord
from harness.core.errors import ConfigError, HarnessError, Problem
from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.server.answering import teapot_answer
from harness.server.api_observers import AnsweredRequest
from harness.server.control_plane.access import LOOPBACK_ACCESS, ControlAccess
from harness.server.http_server import App, connection_of, is_control_path, received_of
from harness.server.mock_api import CONTROL_ROOT
from harness.server.transport.asgi_types import AsgiApp, Receive, Scope, Send
from harness.server.transport.deliver import send_answer
from harness.server.transport.request_parser import RequestHead
from harness.server.transport.upload_spool import read_body
from responses_harness_cluster.applied_logs import ControlAnswer, SessionEvents
from responses_harness_cluster.log_entries import (
    BYTES,
    CONTROL,
    HTTP,
    TEXT,
    UPGRADE,
    LoggedRequest,
    RequestLog,
    StoreLost,
    WorldLost,
    encode_query,
)
from responses_harness_cluster.replicas import Replicas
from responses_harness_cluster.replicated_api import ReplicatedApi

LARGEST_BODY = 32 * 1024 * 1024
"""Largest request body, in bytes, that is put into the store."""
LOST_FIX = "Run the test again once the store takes all requests: what these would have done is missing here."
EVENTS_PATH = f"{CONTROL_ROOT}/events"
RESETS = (("POST", f"{CONTROL_ROOT}/world"), ("DELETE", f"{CONTROL_ROOT}/world"))
"""Control requests that discard everything in the World, unless they are refused."""


class SharedApp(App):
    """Answers requests in the order of the logs that its process and others append to.

    `keep` limits the Worlds in memory.
    """

    api: ReplicatedApi
    store = "redis"

    def __init__(
        self, api: ReplicatedApi, log: RequestLog, access: ControlAccess = LOOPBACK_ACCESS, keep: int | None = None
    ) -> None:
        super().__init__(api, access)
        self._replicas = Replicas(api, log, self._carry_out_control, keep)
        api.courier = self._replicas.courier

    async def close(self) -> None:
        """Close the connection to the store."""
        await self._replicas.close()

    def takes_whole(self, head: RequestHead) -> bool:
        """Return whether a request is answered once it has arrived in full: all but the control plane's."""
        return not is_control_path(head.target.path)

    def answer(self, received: ReceivedRequest, edge: SendRecord | None) -> Answer | Awaitable[Answer]:
        """Submit a request; its answer waits for its turn in the log."""
        begun, request = perf_counter(), _logged(HTTP, received)
        # Every server reads each entry of the log, and so does each server that starts.
        if len(received.raw) > LARGEST_BODY:
            return self._tell_lost(request, begun, _too_large(len(received.raw)))
        return self._wait(self._replicas.submit(self._key_of(request), request, edge=edge), request, begun)

    async def _wait(self, done: asyncio.Future[Any], request: LoggedRequest, begun: float) -> Answer:
        """Return the answer to a request, or an answer that says why the store did not accept it."""
        await asyncio.wait([done])
        try:
            return cast("Answer", done.result())
        except StoreLost as problem:
            return self._tell_lost(request, begun, problem)

    def _key_of(self, request: LoggedRequest) -> str:
        return self.api.world_key(request.path, request.header_values, request.parameters)

    async def deliver(self, answer: Answer, received: ReceivedRequest, receive: Receive, send: Send) -> None:
        """Send an answer in parts; gates in its delivery are opened by other servers, too."""
        if answer.delivery:
            self._replicas.gates.add(id(received), self._key_of(_logged(HTTP, received)), answer.delivery)
        try:
            await super().deliver(answer, received, receive, send)
        finally:
            self._replicas.gates.remove(id(received))

    def _tell_lost(self, request: LoggedRequest, begun: float, problem: HarnessError) -> Answer:
        """Return the answer to a request that the store did not accept, after reporting it to observers and verdict."""
        answer = unavailable_answer(problem) if isinstance(problem, StoreLost) else teapot_answer(problem)
        self._note_lost(request, problem)
        self.api.observers.on_answer(AnsweredRequest(begun, _received(request), answer, is_lost=True))
        return answer

    def _note_lost(self, request: LoggedRequest, problem: HarnessError) -> None:
        # That a World is lost is in its log, and so in the verdict, whoever was told first.
        if not isinstance(problem, WorldLost):
            self.api.note_failed(_received(request), Problem(str(problem), fix=LOST_FIX))

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        from harness.server.websocket.connection import refuse_upgrade, serve_session

        await receive()
        request = _logged(UPGRADE, received_of(scope))._replace(session=secrets.token_hex(8))
        key, begun = self._key_of(request), perf_counter()
        try:
            opened = await self._replicas.submit(key, request)
        except StoreLost as problem:
            opened = self._tell_lost(request, begun, problem)
        if isinstance(opened, Answer):
            await refuse_upgrade(opened, send)
            return
        try:
            session = SharedSession(self._replicas, key, request.session, id(scope), partial(self._note_lost, request))
            await serve_session(session, receive, send, connection_of(scope))
        finally:
            self._replicas.gates.remove(id(scope))
            await self._replicas.leave(key, request.session)

    async def _serve_control(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Bring the World up to date for a request that only reads; requests that change it go through the log."""
        if scope["type"] != "http" or scope["path"] == EVENTS_PATH:  # its stream is this server's own, and never ends
            await super()._serve_control(scope, receive, send)
            return
        body = await read_body(receive)
        if body is None:
            return
        request = _logged(CONTROL, received_of(scope)._replace(raw=body))
        key, is_reading = self._key_of(request), request.method in ("GET", "HEAD")
        if len(body) > LARGEST_BODY:
            await send_answer(send, teapot_answer(_too_large(len(body))))
            return
        try:
            # A World that starts over is no longer reported as lost, so only a reset that will succeed may count as
            # one.
            is_reset = bool(key) and await self._is_reset(request)
            made = await self._replicas.submit(key, None if is_reading else request, is_reset=is_reset) if key else None
        except StoreLost as problem:
            await send_answer(send, unavailable_answer(problem))
            return
        made = made or await self._carry_out_control(request)
        await send({"type": "http.response.start", "status": made.status, "headers": made.headers})
        await send({"type": "http.response.body", "body": made.body})

    async def _is_reset(self, request: LoggedRequest) -> bool:
        """Return whether a control request starts its World over; a request that will be refused does not."""
        if (request.method, request.path) not in RESETS:
            return False
        # The refusal must be known before the log is written, so the request is tried on an empty mock.
        from harness.server.control_plane.app import control_app

        tried = await _call_control(control_app(self.api.make_empty()), request)
        return tried.status < 400

    async def _carry_out_control(self, request: LoggedRequest) -> ControlAnswer:
        """Run a request through the control plane of this process."""
        return await _call_control(super()._serve_control, request)


class SharedSession:
    """A WebSocket whose messages go through the log: like a `SocketSession`, but its events must be awaited."""

    def __init__(
        self, replicas: Replicas, key: str, name: str, connection: int, note_lost: Callable[[StoreLost], None]
    ) -> None:
        self.closed = False
        self.delivery: Delivery | None = None
        self._replicas = replicas
        self._key = key
        self._name = name
        self._connection = connection
        self._note_lost = note_lost

    async def receive(self, message: str | bytes, *, edge: SendRecord | None) -> Sequence[Json]:
        """Put a client's message into the log, and return the server's events."""
        kind, raw = (TEXT, message.encode()) if isinstance(message, str) else (BYTES, message)
        try:
            made: SessionEvents = await self._replicas.submit(
                self._key, LoggedRequest(kind, session=self._name, raw=raw), edge=edge
            )
        except StoreLost as problem:
            self._note_lost(problem)
            answer = unavailable_answer(problem)
            made = SessionEvents([{"type": "error", "status": answer.status, **answer.body}], None, True)
        self.closed, self.delivery = made.closed, made.delivery
        self._replicas.gates.add(self._connection, self._key, made.delivery)
        return cast("Sequence[Json]", made.events)


def unavailable_answer(problem: StoreLost) -> Answer:
    """Build the 503 for a request that the store cannot accept now; SDKs retry it unless `problem` rules that out."""
    text = f"harness: the shared store cannot be used. {problem}"
    headers = {"content-type": "application/json"}
    if problem.is_unknown:
        text += " It has broken off in the middle: this request may have been carried out without an answer."
    if not problem.may_come_again:
        headers["x-should-retry"] = "false"
    return Answer(
        503, {"error": {"message": text, "type": "server_error", "param": None, "code": "store_lost"}}, headers
    )


def _too_large(size: int) -> ConfigError:
    return ConfigError(
        f"the request has {size:,} bytes, and the limit of the shared store is {LARGEST_BODY:,}. Send less, or serve "
        "with --store memory."
    )


async def _call_control(app: AsgiApp, request: LoggedRequest) -> ControlAnswer:
    """Call a control plane over ASGI."""
    status, headers, pieces = 500, [], []

    async def receive() -> Json:
        return {"type": "http.request", "body": request.raw, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message["headers"])
        else:
            pieces.append(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "client": None,
        "query_string": request.query.encode("latin-1"),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        "server": ("localhost", 80),
    }
    await app(scope, cast("Receive", receive), send)
    return ControlAnswer(status, headers, b"".join(pieces))


def _received(request: LoggedRequest) -> ReceivedRequest:
    return ReceivedRequest(request.method, request.path, request.header_values, request.parameters, request.raw)


def _logged(kind: str, received: ReceivedRequest) -> LoggedRequest:
    query, headers = encode_query(received.query), tuple(received.headers.items())
    return LoggedRequest(kind, received.method, received.path, query, headers, "", received.raw)
