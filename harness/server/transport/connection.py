"""An HTTP/1.1 connection: parses requests, runs an ASGI app for each, and sends the answers in order.

A request must arrive in full within a time limit, has at most one `Host`, and can become a WebSocket only as a GET;
HTTP/1.0 clients never get chunks. uvicorn creates one `HttpConnection` per client, through its `http` option.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from functools import cached_property, partial
from itertools import count
from time import time
from typing import Any, cast

from harness.core.delivery import EdgeRecord
from harness.core.headers import encode_headers
from harness.fast_path.joined_writes import JoinedWrites
from harness.fast_path.posts_at_once import LateAnswer, ReadyAnswer
from harness.server.transport.asgi_types import CONNECTION, EDGE, STOPPING, AsgiApp, Scope, connection_scope
from harness.server.transport.exchange import STARTED, AsgiExchange, FlowControl, OnFailed
from harness.server.transport.framing import STATUS_LINES, AnswerFraming, Headers, encode_lines, encode_text
from harness.server.transport.presence import Presence
from harness.server.transport.request_parser import CONNECT, BadRequest, RequestHead, RequestParser

REQUEST_SECONDS = 20.0
"""Seconds in which a request must arrive in full, plus one for each RECEIVED_PER_SECOND bytes received."""
RECEIVED_PER_SECOND = 500
_NUMBERS = count(1)
TOO_SLOW = "The request did not become whole in time."


class ConnectionState(Enum):
    """The state of what the client sends; earlier requests are answered meanwhile, one after the other.

        NEW ──bytes──> HEAD ──head is whole──> BODY ──request is whole──> BETWEEN ──bytes──> HEAD
         │               └──refused, upgrade, CONNECT──┴──> ENDING           ^ │
         └──────────────────────answered at once─────────────────────────────┴─┘

    In ENDING nothing more is read. Whatever ends the connection (an error, a WebSocket) waits for the answers to
    earlier requests. Only the body of a request that is being answered is refused without delay.
    """

    NEW = auto()
    HEAD = auto()
    BODY = auto()
    BETWEEN = auto()
    ENDING = auto()


NEW, HEAD, BODY, BETWEEN, ENDING = ConnectionState


class HttpConnection(asyncio.Protocol):
    """One client's connection; `number` identifies it within this process.

    `exchanges` are its unfinished requests, the first of which is being answered. Without `keep_alive`, the connection
    is closed after its first answer.

    For speed, `answer_at_once` answers a complete request found at some position in the bytes, and `join_writes` makes
    a transport that sends several writes together. `presence` counts the connection where the server may also be called
    without one.
    """

    def __init__(
        self,
        config: Any,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        keep_alive: bool = True,
        answer_at_once: Callable[[bytes, int, int], ReadyAnswer | LateAnswer | None] | None = None,
        join_writes: type[JoinedWrites] | None = None,
        presence: Presence | None = None,
        on_failed: OnFailed = lambda scope, problem: None,
    ) -> None:
        self.loop = _loop or asyncio.get_running_loop()
        self.state = NEW
        self.number = next(_NUMBERS)
        self.exchanges: deque[AsgiExchange] = deque()
        self.idle_seconds: float = config.timeout_keep_alive
        self._config = config
        self._server_state = server_state
        self._app_state = app_state
        self._keep_alive = keep_alive
        self._answer_at_once = answer_at_once
        self._join_writes = join_writes
        self._presence = presence
        self._on_failed = on_failed
        self._parser: RequestParser | None = None
        self._since = self.loop.time()
        self._arrived = 0.0
        self._received = 0
        self._first_lines: tuple[Headers, bytes] = (), b""
        self._end: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection and wait for the first request."""
        if self._presence:
            self._presence.arrive()
        self.transport = cast("asyncio.Transport", transport)
        if self._join_writes:
            self.transport = cast("asyncio.Transport", self._join_writes(self.transport, self.loop))
        self.flow = FlowControl(self.transport)
        self._server_state.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after a connection; an error means that the client has reset it."""
        if exc is not None:
            self._note_silence()
        if self._presence:
            self._presence.leave()
        self._server_state.connections.discard(self)
        for exchange in self.exchanges:
            exchange.abandon()
        self.exchanges.clear()
        self.flow.resume_writing()
        self._parser = None  # it refers back to this connection

    def eof_received(self) -> None:
        """Handle the client's end of file."""
        self._note_silence()

    def _note_silence(self) -> None:
        """Report a client that completed the TLS handshake and then sent nothing."""
        if self.state is NEW and (secured := self.transport.get_extra_info("ssl_object")):
            secured.context.note_end(secured)

    def pause_writing(self) -> None:
        """Stop sending to a client that does not read."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Resume sending."""
        self.flow.resume_writing()

    def shutdown(self) -> None:
        """Close the connection once all its answers have been sent."""
        if self.exchanges:
            self.exchanges[-1].framing.keep_alive = False
            for exchange in self.exchanges:
                exchange.scope["state"][STOPPING] = True
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the client."""
        if self.state is ENDING:
            return
        start = 0
        # Pipelined requests may arrive in one read, the last of them incomplete.
        while self._answer_at_once and start < len(data) and self.may_answer_at_once:
            answer = self._answer_at_once(data, start, self.number)
            if answer is None:
                break
            start = answer.end
            self.send_at_once(answer)
        if start < len(data):
            self._parse(data[start:])

    def _parse(self, data: bytes) -> None:
        """Feed bytes to the parser, and handle a refusal, an upgrade or a CONNECT."""
        self.begin_request()
        self._received += len(data)
        try:
            self._parser = self._parser or RequestParser(self)
            last = self._parser.feed(data)
            scope = last.as_scope() if last and last.method != CONNECT else None
        except BadRequest as problem:
            self._refuse(400, str(problem))
        else:
            if last is not None:
                # Bytes after this head are no HTTP: a tunnel, which is not offered, or frames of a WebSocket.
                self._end_with(partial(self.become_websocket, last, scope) if scope else self.transport.close)

    @property
    def is_idle(self) -> bool:
        """Whether the next byte starts a request and no answer is pending."""
        return (self.state is BETWEEN or self.state is NEW) and not self.exchanges

    @property
    def may_answer_at_once(self) -> bool:
        """Whether a request may be answered without a task of its own."""
        return self.is_idle and not self.flow.is_writing_paused

    def send_at_once(self, answer: ReadyAnswer | LateAnswer) -> None:
        """Send the answer to a request that bypassed the parser."""
        if isinstance(answer, ReadyAnswer):
            self.state, self._since = BETWEEN, self.loop.time()
            self._server_state.total_requests += 1
            written = b"".join((STATUS_LINES[answer.status], self._encode_first_lines(), *answer.rest))
            self.transport.write(written)
            answer.edge.add_part(len(written), time())
            answer.edge.end(whole=True)
        else:
            headers = encode_headers(answer.head.headers.items())
            head = RequestHead("POST", answer.head.path.encode(), "1.1", headers, True)
            self._begin_exchange(head, answer.app, answer.edge)
            self.end_request()

    def _encode_first_lines(self) -> bytes:
        """Encode the headers that start every answer, again only if the server has replaced them."""
        headers = self._server_state.default_headers
        if headers is not self._first_lines[0]:
            self._first_lines = headers, encode_lines(headers)
        return self._first_lines[1]

    def begin_request(self) -> None:
        """Start the clock of a request; white space between two requests starts one, too."""
        if self.state is BETWEEN:
            self._since, self._received = self.loop.time(), 0
        if self.state is not BODY:
            self.state = HEAD

    def begin_head(self) -> None:
        """Handle the start of a request's head."""
        self.state, self._since, self._received = HEAD, self.loop.time(), 1
        self._arrived = time()  # the loop's clock may stand still within an iteration

    def begin_body(self, head: RequestHead) -> None:
        """Start answering a request whose head has arrived."""
        self._begin_exchange(head, self._config.loaded_app, EdgeRecord(self._arrived, self.number))

    def _begin_exchange(self, head: RequestHead, app: AsgiApp, edge: EdgeRecord) -> None:
        """Run an app for a request, after all earlier requests have been answered."""
        may_follow = self._keep_alive and head.keeps_alive and head.version != "1.0" and head.method != CONNECT
        exchange = AsgiExchange(
            {**head.as_scope(), **self._scope, "state": {**self._app_state, EDGE: edge}},
            AnswerFraming(head.method, head.version, keep_alive=may_follow),
            self.transport,
            self.flow,
            self._server_state.default_headers,
            self.on_answered,
            edge,
            on_failed=self._on_failed,
            expects_continue=head.expects_continue,
        )
        self.state = BODY
        self.exchanges.append(exchange)
        if len(self.exchanges) == 1:
            self._start(exchange, app)
        else:
            # Back-pressure: nothing more is read until an answer has been sent.
            self.flow.pause_reading()

    @cached_property
    def _scope(self) -> Scope:
        """The part of the ASGI scope that all requests of the connection share."""
        return {"root_path": self._config.root_path, **connection_scope(self.transport)}

    def _start(self, exchange: AsgiExchange, app: AsgiApp) -> None:
        task = self.loop.create_task(exchange.run(app))
        task.add_done_callback(self._server_state.tasks.discard)
        self._server_state.tasks.add(task)

    def take_body(self, body: bytes) -> None:
        """Pass a part of the body to its exchange."""
        if self.exchanges:  # otherwise it has been answered already
            self.exchanges[-1].add_body(body)

    def end_request(self) -> None:
        """Handle the end of a request."""
        self.state, self._since = BETWEEN, self.loop.time()
        if self.exchanges:
            self.exchanges[-1].end_body()

    def on_answered(self) -> None:
        """Finish an exchange, and start the next one or end the connection."""
        self.exchanges.popleft()
        self._server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.exchanges:
            self._start(self.exchanges[0], self._config.loaded_app)
        elif self.state is ENDING:
            self._end()
        elif self.state is BETWEEN:
            self._since = self.loop.time()

    def end_when_late(self) -> None:
        """Refuse a request that has not arrived in time, unless an earlier one is being answered.

        Close idle connections.
        """
        seconds = self.loop.time() - self._since
        if self.state is ENDING or (self.state is BETWEEN and self.exchanges):
            return
        if self.state is BETWEEN:
            if seconds > self.idle_seconds:
                self.transport.close()
        # The client is not to blame: the server does not read, or answers what came before.
        elif self.flow.is_reading_paused or (self.exchanges and self.exchanges[-1].is_body_whole):
            self._since = self.loop.time()
        # A large upload may take longer, one byte a second may not.
        elif seconds > REQUEST_SECONDS + self._received / RECEIVED_PER_SECOND:
            self._refuse(408, TOO_SLOW)

    def _refuse(self, status: int, text: str) -> None:
        """Refuse the request being received and close the connection; an answer that has begun is cut off."""
        end: Callable[[], None] = partial(self._write_last, encode_text(status, text))
        if self.state is BODY and self.exchanges:
            refused = self.exchanges.pop()
            if refused.state is STARTED:
                end = self.transport.close
            refused.abandon()
        self._end_with(end)

    def _write_last(self, error: bytes) -> None:
        self.transport.write(error)
        self.transport.close()

    def _end_with(self, end: Callable[[], None]) -> None:
        """Stop reading, and call `end` once all earlier requests have been answered."""
        self.state, self._end = ENDING, end
        if not self.exchanges:
            end()

    def become_websocket(self, head: RequestHead, scope: Scope) -> None:
        """Hand the connection over to the WebSocket protocol, starting with the head of the upgrade."""
        self._server_state.connections.discard(self)
        protocol = self._config.ws_protocol_class(
            config=self._config,
            server_state=self._server_state,
            scope={
                **scope,
                **self._scope,
                "type": "websocket",
                "scheme": "wss" if self._scope["scheme"] == "https" else "ws",
                "state": {**self._app_state, CONNECTION: self.number},
                "extensions": {"websocket.http.response": {}},
            },
        )
        protocol.connection_made(self.transport)
        protocol.data_received(head._replace(version="1.1").encode())
        self.transport.set_protocol(protocol)
