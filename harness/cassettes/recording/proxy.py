"""A proxy in front of the live API that records every exchange, and every message of a WebSocket."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.http11 import Response

from harness.api.http.dialects import Upstream, unreachable_advice
from harness.api.responses import END_EVENTS
from harness.cassettes.format.interaction import SERVER, Interaction
from harness.cassettes.recording.recorder import InFlightInteraction, Recording
from harness.core.exchange import Answer
from harness.core.headers import HeaderPairs, encode_headers, header_pairs, normalize_headers
from harness.server.answering import non_retryable_answer
from harness.server.http_server import uvicorn_config
from harness.server.transport.asgi_types import Receive, Scope, Send
from harness.server.transport.deliver import disconnect, send_answer
from harness.server.transport.stoppable_server import STOP_SECONDS, StoppableServer
from harness.server.transport.upload_spool import read_body
from harness.server.websocket.connection import CLOSE_NORMAL, refuse_upgrade

SWITCHING_PROTOCOLS = 101
CONNECTION_LOST = 1006
"""The close code of a lost connection."""
UNSENDABLE_CODES = frozenset({1004, 1005, CONNECTION_LOST, 1015})
"""Close codes that are never sent."""
OPEN_TIMEOUT = 30.0
"""Seconds in which a connection to the API must open."""
CLOSE_TIMEOUT = 2.0
"""Seconds in which the API must confirm that a connection is closed."""
MAX_MESSAGE_BYTES = 1 << 29
"""The maximum size in bytes of a message, or of an answer over HTTP: more than the largest file of the API."""
UPGRADE_HOP_HEADERS = ("connection", "upgrade", "transfer-encoding")
WEBSOCKET_HEADER_PREFIX = "sec-websocket-"
"""The prefix of headers that belong to one connection."""


async def tunnel_websocket(
    exchange: InFlightInteraction,
    recording: Recording,
    subprotocols: Sequence[str],
    receive: Receive,
    send: Send,
    unreachable_answer: Callable[[Exception], Answer],
    timeout: float,
) -> None:
    """Open the connection upstream, then forward messages; a refused upgrade is forwarded as HTTP.

    An API that owes an answer and is silent for `timeout` seconds is left.
    """
    await receive()
    try:
        upstream = await _open_upstream(exchange, subprotocols)
    except InvalidStatus as refused:
        await _forward_refusal(exchange, refused.response, send)
    except (OSError, InvalidHandshake, InvalidURI) as problem:
        await refuse_upgrade(unreachable_answer(problem), send)
    else:
        headers = _upgrade_answer_headers(cast("Response", upstream.response))
        exchange.start_answer(SWITCHING_PROTOCOLS, headers)
        await send(
            {"type": "websocket.accept", "subprotocol": upstream.subprotocol, "headers": encode_headers(headers)}
        )
        await _relay_messages(exchange, recording, upstream, receive, send, timeout)


async def _open_upstream(exchange: InFlightInteraction, subprotocols: Sequence[str]) -> ClientConnection:
    uri = f"ws{exchange.request.uri.removeprefix('http')}"
    return await connect(
        uri,
        additional_headers=[
            pair for pair in exchange.request.headers.items() if not pair[0].startswith(WEBSOCKET_HEADER_PREFIX)
        ],
        subprotocols=cast("Any", subprotocols) or None,
        ssl=httpx2.create_ssl_context() if uri.startswith("wss:") else None,
        user_agent_header=None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=OPEN_TIMEOUT,
        close_timeout=CLOSE_TIMEOUT,
    )


def _upgrade_answer_headers(response: Response) -> HeaderPairs:
    """Return the headers of an answer to an upgrade, without those of the connection."""
    return [
        pair
        for pair in header_pairs(response.headers.raw_items())
        if not pair[0].startswith(WEBSOCKET_HEADER_PREFIX) and pair[0] not in UPGRADE_HOP_HEADERS
    ]


async def _forward_refusal(exchange: InFlightInteraction, response: Response, send: Send) -> None:
    headers, body = _upgrade_answer_headers(response), bytes(response.body or b"")
    exchange.start_answer(response.status_code, headers, response.reason_phrase)
    exchange.add_chunk(body)
    exchange.cut = False
    await refuse_upgrade(Answer(response.status_code, body, normalize_headers(headers)), send)


async def _relay_messages(
    exchange: InFlightInteraction,
    recording: Recording,
    upstream: ClientConnection,
    receive: Receive,
    send: Send,
    timeout: float,
) -> None:
    up = asyncio.ensure_future(_relay_from_client(exchange, recording, upstream, receive))
    down = asyncio.ensure_future(_relay_from_upstream(exchange, upstream, send))
    silence = asyncio.ensure_future(_wait_for_silence(exchange, timeout))
    # The side that ends first decides how the other one is closed.
    await asyncio.wait((up, down, silence), return_when=asyncio.FIRST_COMPLETED)
    client_left, is_silent = up.done(), silence.done()
    for task in (up, down, silence):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    if is_silent and not client_left:
        recording.note_problem(describe_silence(exchange, timeout))
        upstream.transport.abort()
    code = upstream.close_code
    exchange.cut = not client_left and code in (None, CONNECTION_LOST)
    if client_left:
        await upstream.close(CLOSE_NORMAL if (client_code := up.result()) in UNSENDABLE_CODES else client_code)
    elif not exchange.cut:
        reason = upstream.close_reason or ""
        await send(
            {"type": "websocket.close", "code": CLOSE_NORMAL if code in UNSENDABLE_CODES else code, "reason": reason}
        )


async def _wait_for_silence(exchange: InFlightInteraction, timeout: float) -> None:
    """Return as soon as an answer is due and nothing has come or gone for `timeout` seconds."""
    while (silent := exchange.silent_seconds) < timeout or not _owes_answer(exchange):
        await asyncio.sleep(timeout - silent if silent < timeout else timeout)


def _owes_answer(exchange: InFlightInteraction) -> bool:
    """Return whether the API has to send the next message: between answers, silence is the client's."""
    if not exchange.frames:
        return False
    _, side, text = exchange.frames[-1]
    try:
        return side != SERVER or orjson.loads(text)["type"] not in (*END_EVENTS, "error")
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return True


def describe_silence(exchange: InFlightInteraction, timeout: float) -> str:
    """Describe an API that has sent nothing for too long, and what to do."""
    return (
        f"{urlsplit(exchange.request.uri).netloc} sent nothing for {timeout:g} s. What came before is recorded as cut; if "
        "the API needs longer, pass --timeout SECONDS."
    )


async def _relay_from_client(
    exchange: InFlightInteraction, recording: Recording, upstream: ClientConnection, receive: Receive
) -> int:
    """Forward the client's messages and return its close code."""
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text")
        data = message["bytes"] if text is None else text
        await recording.add_client_message(exchange, data if isinstance(data, str) else data.decode("utf-8", "replace"))
        with suppress(ConnectionClosed):  # the other direction then ends, too
            await upstream.send(data)
    return int(message.get("code") or CLOSE_NORMAL)


async def _relay_from_upstream(exchange: InFlightInteraction, upstream: ClientConnection, send: Send) -> None:
    """Forward the API's messages until it closes the connection."""
    with suppress(ConnectionClosed):
        while True:
            message = await upstream.recv()
            text = message if isinstance(message, str) else message.decode("utf-8", "replace")
            exchange.add_frame(SERVER, text)
            await send({"type": "websocket.send", "text": text})


REQUEST_HOP_HEADERS = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "expect"),
    }
)
"""Hop-by-hop request headers, which are not forwarded."""
ANSWER_HOP_HEADERS = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"trailer", b"upgrade"}
)
"""Hop-by-hop answer headers, which are not forwarded."""
SILENCE_TIMEOUT = 600.0
"""Seconds for which the API may be silent, before an answer or within one: as long as OpenAI's SDKs wait."""
CLIENT_GONE_TIMEOUT = 0.25
"""Seconds that an answer may still take after its client has disconnected."""
UNREACHABLE_ERRORS = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
)


class Proxy:
    """The ASGI app: forwards every request to the same path of the API, which may be silent for `timeout` seconds."""

    def __init__(self, upstream: Upstream, recording: Recording, client: httpx2.AsyncClient, timeout: float) -> None:
        self._upstream = upstream
        self._recording = recording
        self._client = client
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request or one WebSocket."""
        if scope["type"] == "websocket":
            exchange = await self._begin(scope, "GET", b"")
            await tunnel_websocket(
                *(exchange, self._recording, scope["subprotocols"], receive, send),
                self._unreachable_answer,
                self._timeout,
            )
        elif (body := await read_body(receive)) is not None:
            exchange = await self._begin(scope, scope["method"], body)
            await _run_until_client_leaves(self._forward(exchange, send), receive)
        else:
            return
        self._recording.end_interaction(exchange)

    async def _begin(self, scope: Scope, method: str, body: bytes) -> InFlightInteraction:
        query = scope["query_string"].decode("latin-1")
        uri = self._upstream.origin + scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        headers = normalize_headers(
            [pair for pair in header_pairs(scope["headers"]) if pair[0] not in REQUEST_HOP_HEADERS]
        )
        return await self._recording.begin_interaction(Interaction(method, uri, headers, body))

    async def _forward(self, exchange: InFlightInteraction, send: Send) -> None:
        recorded = exchange.request
        try:
            headers = {**recorded.headers, "accept-encoding": "identity"}
            request = httpx2.Request(recorded.method, recorded.uri, headers=headers, content=recorded.body or None)
            # The head of an answer comes at once or not at all: one that trickles in is no sign of life.
            async with asyncio.timeout(self._timeout):
                response = await self._client.send(request, stream=True)
        except UNREACHABLE_ERRORS as problem:
            await send_answer(send, self._unreachable_answer(problem))
        except (httpx2.TimeoutException, TimeoutError):
            self._recording.note_problem(describe_silence(exchange, self._timeout))
            disconnect(send)
        except httpx2.TransportError as problem:
            self._recording.note_problem(
                f"{self._upstream.origin} broke off without an answer ({_error_text(problem)})"
            )
            disconnect(send)
        except asyncio.CancelledError:
            self._recording.note_problem(
                f"{self._upstream.origin} had not answered when the client left. {_suggest_fix()}"
            )
            raise
        else:
            await self._forward_answer(exchange, response, send)

    async def _forward_answer(self, exchange: InFlightInteraction, response: httpx2.Response, send: Send) -> None:
        """Forward an answer as it arrives; a connection that breaks upstream is broken here."""
        headers = [
            (name.lower(), value) for name, value in response.headers.raw if name.lower() not in ANSWER_HOP_HEADERS
        ]
        exchange.start_answer(response.status_code, header_pairs(headers), response.reason_phrase)
        size = 0
        try:
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for chunk in response.aiter_raw():
                exchange.add_chunk(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                size += len(chunk)
                if size > MAX_MESSAGE_BYTES:
                    self._recording.note_problem(
                        f"{self._upstream.origin} sent an answer of more than {MAX_MESSAGE_BYTES:,} bytes; the rest is not "
                        "recorded, and its client was disconnected"
                    )
                    disconnect(send)
                    return
            exchange.cut = False
            await send({"type": "http.response.body", "body": b""})
        except httpx2.TransportError as problem:
            if isinstance(problem, httpx2.TimeoutException):
                self._recording.note_problem(describe_silence(exchange, self._timeout))
            disconnect(send)
        finally:
            await response.aclose()

    def _unreachable_answer(self, problem: Exception) -> Answer:
        why = _error_text(problem)
        text = f"{self._upstream.origin} cannot be reached: {why}. {_suggest_fix(why)}"
        self._recording.note_problem(text)
        return non_retryable_answer(text)


async def _run_until_client_leaves(forward: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Run `forward` until it ends, or shortly after the client disconnects, as many do after the last event."""
    forwarding, leaving = asyncio.ensure_future(forward), asyncio.ensure_future(receive())
    await asyncio.wait((forwarding, leaving), return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    await asyncio.wait((forwarding,), timeout=CLIENT_GONE_TIMEOUT)
    forwarding.cancel()
    with suppress(asyncio.CancelledError):
        await forwarding


def _suggest_fix(why: str = "") -> str:
    return unreachable_advice("--upstream", why)


def _error_text(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


@contextmanager
def run_proxy(
    upstream: Upstream, recording: Recording, listening: socket.socket, timeout: float = SILENCE_TIMEOUT
) -> Iterator[Callable[[], None]]:
    """Record the requests to a listening socket during a `with` block, and close the socket at its end.

    `timeout` is the number of seconds for which the API may be silent. At the end, unfinished answers get a few seconds,
    or none once the yielded function has been called.
    """
    timeouts = httpx2.Timeout(timeout, connect=OPEN_TIMEOUT, pool=None)
    client = httpx2.AsyncClient(timeout=timeouts, limits=httpx2.Limits())
    settings = uvicorn_config(Proxy(upstream, recording, client, timeout))
    settings.date_header = False  # the API's own header is forwarded
    server = StoppableServer(settings)

    async def serve() -> None:
        async with client:
            await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="harness-record", daemon=True)
    thread.start()
    try:
        yield server.stop
    finally:
        server.stop(force=False)
        thread.join(2 * STOP_SECONDS)
