"""An HTTP/1.1 connection: parses requests, has each answered by a service or an ASGI app, and sends the answers in order.

A request must arrive in full within a time limit, has at most one `Host`, and can become a WebSocket only as a GET;
HTTP/1.0 clients never get chunks. uvicorn creates one `HttpConnection` per client, through its `http` option.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from functools import lru_cache, partial
from itertools import count
from time import time
from typing import Any, cast

from uvicorn import Config
from uvicorn.server import ServerState

from harness.core.cached import cached_property
from harness.core.delivery import SendRecord
from harness.core.exchange import ReceivedRequest
from harness.core.limits import COLLECTED_ANSWERS, MAX_HEAD_SIZE, collect_new_garbage
from harness.server.transport.asgi_types import CONNECTION, EDGE, STOPPING, Scope
from harness.server.transport.exchange import STARTED, FlowControl, HttpExchange, Service
from harness.server.transport.framing import Headers, decode_headers, encode_text
from harness.server.transport.request_parser import (
    BEGIN,
    END,
    BadRequest,
    Part,
    RequestHead,
    RequestParser,
    Upgrade,
)

REQUEST_SECONDS = 20.0
"""Seconds in which a request must arrive in full, plus one for each RECEIVED_PER_SECOND bytes received."""
RECEIVED_PER_SECOND = 500
_NUMBERS = count(1)
MOST_AT_ONCE = 8
"""Requests of one connection that are answered before other connections have their turn."""
TOO_SLOW = "The request did not become whole in time."
TOO_LONG = f"A head, or what is between two parts of a body, has at most {MAX_HEAD_SIZE:,} bytes."


_decode_again = lru_cache(maxsize=8)(decode_headers)


def _do_nothing() -> None:
    """End a connection that has nothing left to do."""


class ConnectionState(Enum):
    """The state of what the client sends; earlier requests are answered meanwhile, one after the other.

        NEW ──bytes──> HEAD ──head is whole──> BODY ──request is whole──> BETWEEN ──bytes──> HEAD
                         └──refused, upgrade, CONNECT──┴──> ENDING

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

    `exchanges` are its unfinished requests, the first of which is being answered: by the `service` if it takes it, else
    by the ASGI app of the configuration. Without `keep_alive`, the connection is closed after its first answer.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        keep_alive: bool = True,
        service: Service | None = None,
    ) -> None:
        self.loop = _loop or asyncio.get_running_loop()
        self.state = NEW
        self.number = next(_NUMBERS)
        self.exchanges: deque[HttpExchange] = deque()
        self.idle_seconds: float = config.timeout_keep_alive
        self._config = config
        self._server_state = server_state
        self._app_state = app_state
        self._keep_alive = keep_alive
        self._service = service
        self._whole_head: RequestHead | None = None
        self._parser = RequestParser()
        self._since = self.loop.time()
        self._arrived = 0.0
        self._received = self._unparsed = 0
        self._is_answering = False
        self._answered_at_once = 0
        self._end: Callable[[], None] = _do_nothing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection and wait for the first request."""
        self.transport = cast("asyncio.Transport", transport)
        self.flow = FlowControl(self.transport)
        self._server_state.connections.add(cast("Any", self))  # uvicorn names its own protocols alone

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after a connection; an error means that the client has reset it."""
        if exc is not None:
            self._note_silence()
        self._server_state.connections.discard(self)
        for exchange in self.exchanges:
            exchange.abandon()
        self.exchanges.clear()
        self.flow.resume_writing()
        self._let_go()

    def _let_go(self) -> None:
        """Drop what refers back to the connection, which is then freed at once."""
        self._parser.close()
        self._end = _do_nothing

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
            self.exchanges[-1].keep_alive = False
            for exchange in self.exchanges:
                if exchange.scope is not None:
                    exchange.scope["state"][STOPPING] = True
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the client."""
        if self.state is ENDING:
            return
        if self.state is BETWEEN:  # white space between two requests starts the clock, too
            self._since, self._received = self.loop.time(), 0
        if self.state is not BODY:
            self.state = HEAD
        self._received += len(data)
        self._answered_at_once = 0
        parts = self._parser.feed(data)
        self._unparsed = 0 if parts else self._unparsed + len(data)
        if self._unparsed > MAX_HEAD_SIZE:
            self._refuse(431, TOO_LONG)
        for part in parts:
            if type(part) is tuple:
                self._arrived = time()
                self._begin_exchange(*part)
                self._answer_next()
            elif self._take(part):
                self._answer_next()
            if self.state is ENDING:
                break

    def _take(self, part: Part) -> bool:
        """Handle a part of a request; return whether a request may be answered now."""
        if part is BEGIN:
            # Starts the clock of the request; the loop's may stand still within an iteration.
            self.state, self._since, self._received, self._arrived = HEAD, self.loop.time(), 1, time()
        elif part is END:
            self.state, self._since = BETWEEN, self.loop.time()
            if self.exchanges:  # otherwise it has been answered already
                self.exchanges[-1].end_body()
            return bool(self.exchanges)
        elif isinstance(part, bytes):
            return bool(self.exchanges) and self.exchanges[-1].add_body(part)
        elif isinstance(part, RequestHead):
            self._begin_exchange(part)
            return True
        elif isinstance(part, Upgrade):
            self._upgrade(*part)
        else:
            self._refuse(400, str(part))
        return False

    def _begin_exchange(self, head: RequestHead, body: bytes | None = None) -> None:
        """Begin a request whose head has arrived, maybe with all of its body."""
        service, scope = self._service, None
        if head is not self._whole_head:  # most clients send the same head again
            try:
                if service is None or not service.takes_whole(head):
                    service, scope = None, head.as_scope()
                else:
                    self._whole_head = head
            except BadRequest as problem:
                self._refuse(400, str(problem))
                return
        edge = SendRecord(self._arrived, self.number)
        keep_alive = self._keep_alive and head.keeps_alive
        exchange = HttpExchange(self, head, edge, service, body, keep_alive=keep_alive)
        if scope:
            exchange.scope = {**scope, **self._scope, "state": {**self._app_state, EDGE: edge}}
        self.state = BODY if body is None else BETWEEN
        self.exchanges.append(exchange)
        if len(self.exchanges) > 1:
            # Back-pressure: nothing more is read until earlier requests have been answered.
            self.flow.pause_reading()

    @property
    def first_headers(self) -> Headers:
        """The headers that start every answer; the server replaces them once a second."""
        return _decode_again(tuple(self._server_state.default_headers))

    @cached_property
    def _scope(self) -> Scope:
        ends = (self.transport.get_extra_info(name) for name in ("sockname", "peername"))
        server, client = (end[:2] if isinstance(end, tuple) else None for end in ends)
        return {
            "root_path": self._config.root_path,
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "scheme": "https" if self.transport.get_extra_info("sslcontext") else "http",
            "server": server,
            "client": client,
        }

    def _answer_next(self) -> None:
        """Answer the requests in their order, until one has not arrived in full or its answer has to wait."""
        if self._is_answering:
            return
        self._is_answering = True
        while self.exchanges and not (first := self.exchanges[0]).has_task and not self.transport.is_closing():
            if self._answered_at_once == MOST_AT_ONCE:
                self.loop.call_soon(self._answer_more)
                return
            self._answered_at_once += 1
            if first.service is None:
                self._start(first, first.run(partial(self._config.loaded_app, first.scope, first.receive, first.send)))
                continue
            if not first.is_body_whole:
                first.ask_for_body()
                break
            if work := first.answer(first.service):
                self._start(first, work)
        self._is_answering = False

    def _answer_more(self) -> None:
        self._is_answering, self._answered_at_once = False, 0
        self._answer_next()

    def _start(self, exchange: HttpExchange, work: Coroutine[Any, Any, None]) -> None:
        exchange.has_task = True
        task = self.loop.create_task(work)
        task.add_done_callback(self._server_state.tasks.discard)
        self._server_state.tasks.add(task)

    def on_answered(self) -> None:
        """Finish an exchange, and start the next one or end the connection."""
        self.exchanges.popleft()
        self._server_state.total_requests = answered = self._server_state.total_requests + 1
        if not answered % COLLECTED_ANSWERS:
            collect_new_garbage()
        if self.transport.is_closing():
            return
        if self.flow.is_reading_paused and len(self.exchanges) < 2:
            self.flow.resume_reading()
        if self.exchanges:
            self._answer_next()
        elif self.state is ENDING:
            self._end()
        elif self.state is BETWEEN:
            self._since = self.loop.time()

    def on_failed(self, received: ReceivedRequest, problem: BaseException) -> None:
        """Report that a request was not answered, or not to its end."""
        if self._service is not None:
            self._service.note_failed(received, problem)

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

    def _upgrade(self, head: RequestHead, rest: bytes) -> None:
        """End the connection at a CONNECT, whose tunnel is not offered, or hand it over as a WebSocket."""
        if head.is_tunnel:
            self._end_with(self.transport.close)
            return
        try:
            become = partial(self._become_websocket, head, head.as_scope(), rest)
        except BadRequest as problem:
            self._refuse(400, str(problem))
            return
        self.flow.pause_reading()  # what comes before earlier answers are complete is for the WebSocket
        self._end_with(become)

    def _become_websocket(self, head: RequestHead, scope: Scope, rest: bytes) -> None:
        """Hand the connection over to the WebSocket protocol, starting with the head of the upgrade."""
        self._let_go()
        self._server_state.connections.discard(self)
        make_protocol = cast("Callable[..., Any]", self._config.ws_protocol_class)
        protocol = make_protocol(
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
        protocol.data_received(head.encode())
        if rest:
            protocol.data_received(rest)
        self.transport.set_protocol(protocol)
        self.flow.resume_reading()
