"""Clients for the API's WebSockets: one records all frames, one returns a reply to each event as HTTP would have."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace

import orjson
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException
from websockets.http11 import Response
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from harness.cassettes.format.interaction import CLIENT, SERVER, Frame, Interaction
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.core.secret_prefixes import redact
from harness.live.http import ServerReply, parse_reply
from harness.server.deadline import run_within, shut_down
from harness.verify.judging.websockets import SocketExchange, SocketLog

SWITCHING_PROTOCOLS = 101
MAX_MESSAGE_BYTES = 1 << 26
"""The maximum size of a message in bytes; a larger one ends the connection."""


MAX_QUEUED_MESSAGES = 4096
"""The maximum number of unread messages: with a full queue, the close handshake would run into its timeout."""


class WebSocketClient:
    """A connection, made by `open`; `timeout` is the maximum duration of an answer in seconds.

    Proxies and redirects are not followed. `frames` are those sent and received so far; `fault` is the reason why the
    connection broke, empty while it works.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url
        self.frames: list[Frame] = []
        self.fault = ""
        self._timeout = timeout
        self._started = 0.0
        self._log = SocketLog()
        self._socket: Connection | None = None
        self._closing = ExitStack()

    @property
    def is_open(self) -> bool:
        """Whether the connection was opened."""
        return self._socket is not None

    def open(self, headers: Mapping[str, str]) -> Interaction:
        """Open the connection and return the handshake, with the `reason` if there is no answer. Never raises."""
        sent = Interaction("GET", self.url, headers)
        self._started = time.perf_counter()
        try:
            connecting = connect(
                self.url,
                additional_headers=dict(headers),
                compression=None,
                max_size=MAX_MESSAGE_BYTES,
                max_queue=MAX_QUEUED_MESSAGES,
                open_timeout=self._timeout,
                close_timeout=1,
                proxy=None,
            )
            opened = self._socket = self._closing.enter_context(connecting)
        except InvalidStatus as refused:
            return _with_answer(sent, refused.response)
        except (OSError, ValueError, InvalidHandshake, WebSocketException) as problem:
            return replace(sent, cut=True, reason=_describe_problem(problem))
        assert opened.response is not None
        return _with_answer(sent, opened.response)

    def send_event(self, text: str, is_enough: Callable[[SocketExchange], bool]) -> SocketExchange:
        """Send an event and read its answer until it `is_enough`, or until a `fault` ends it. Never raises."""
        assert self._socket is not None
        exchange, connection = self._log.add_client_event(text), self._socket
        self._record_frame(CLIENT, text)

        def read_answer() -> None:
            connection.send(text)
            while not is_enough(exchange):
                message = connection.recv(decode=True)
                self._record_frame(SERVER, message)
                self._log.add_server_event(message)

        try:
            run_within(self._timeout, read_answer, lambda: shut_down(connection.socket))
        except (OSError, ValueError, ConnectionClosed) as problem:
            self.fault = _describe_problem(problem)
        return exchange

    def discard_frames(self, count: int) -> None:
        """Drop all but the first `count` frames, so that the last event can be sent again."""
        del self.frames[count:]
        self._log = SocketLog(self.frames)

    def close(self) -> None:
        """Close the connection, if it is open."""
        with suppress(OSError, WebSocketException):
            self._closing.close()

    def _record_frame(self, side: str, text: str) -> None:
        self.frames.append((time.perf_counter() - self._started, side, text))


def _with_answer(sent: Interaction, response: Response) -> Interaction:
    headers = normalize_headers(response.headers.raw_items())
    chunks = ((0.0, bytes(response.body)),) if response.body else ()
    return replace(sent, status=response.status_code, answer_headers=headers, chunks=chunks)


def handshake_error(opened: Interaction) -> Json:
    """Return the error in the body of a refused upgrade; empty without one."""
    with suppress(orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return dict(orjson.loads(opened.answer)["error"])
    return {}


def handshake_problem(opened: Interaction) -> str:
    """Explain briefly why there is no connection, without secrets."""
    return str(redact(f"{opened.status or ''} {handshake_error(opened).get('message') or opened.reason}".strip()))


def _describe_problem(problem: Exception) -> str:
    if isinstance(problem, TimeoutError):
        return "no whole answer in time"
    if isinstance(problem, ConnectionRefusedError):
        return "the connection is refused"
    return f"the connection is closed ({type(problem).__name__})"


RESPONSES_PATH = "/responses"
MAX_EVENTS = 100_000
"""The maximum number of events of an answer that are read."""


class ConformanceSocket:
    """A connection that the first event opens; `url` is the base URL, `timeout` the seconds that an answer may take."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._headers = headers
        self._client = WebSocketClient(f"ws{url.removeprefix('http')}{RESPONSES_PATH}", timeout)

    @property
    def is_open(self) -> bool:
        """Whether a WebSocket was opened."""
        return self._client.is_open

    def send_event(self, event: bytes) -> ServerReply:
        """Send an event and return the reply, which may be a refused upgrade. Never raises."""
        if not self._client.is_open:
            opened = self._client.open(self._headers)
            if opened.status != SWITCHING_PROTOCOLS:
                return parse_reply(replace(opened, method="POST"), RESPONSES_PATH)
        exchange = self._client.send_event(event.decode("utf-8", "replace"), _is_enough)
        too_long = "" if exchange.is_settled else f"it has more than {MAX_EVENTS} events"
        return self._reply_to_event(exchange, self._client.fault or too_long)

    def close(self) -> None:
        """Close the connection, if it is open."""
        self._client.close()

    def _reply_to_event(self, exchange: SocketExchange, fault: str) -> ServerReply:
        answer = exchange.answer
        sent = Interaction("POST", self._client.url, self._headers, status=answer.status, cut=bool(fault), reason=fault)
        reply = parse_reply(sent, RESPONSES_PATH)
        as_http = {"answer": answer.body} if answer.status >= 400 else {"events": exchange.http_events}
        return ServerReply(reply.recorded._replace(**as_http), sent)


def _is_enough(exchange: SocketExchange) -> bool:
    return exchange.is_settled or len(exchange.events) > MAX_EVENTS
