"""A proxy in front of the live API that records every exchange; `websocket_proxy` does the same for WebSockets.

Answers are forwarded chunk by chunk, as they arrive. Requests ask for no content encoding, so that the recording is
readable. A connection that breaks upstream breaks at the same place here. An answer may be as long as its client listens,
but an API that is silent for too long is left: what came before is recorded as cut, and the client's connection breaks.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2

from harness.api.http.dialects import Upstream, unreachable_advice
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.in_flight import InFlightInteraction, Recording, non_retryable_answer
from harness.cassettes.recording.websocket_proxy import (
    MAX_MESSAGE_BYTES,
    OPEN_TIMEOUT,
    describe_silence,
    tunnel_websocket,
)
from harness.core.exchange import Answer
from harness.core.headers import header_pairs, normalize_headers
from harness.server.asgi import read_body, uvicorn_config
from harness.server.transport.asgi_types import Receive, Scope, Send
from harness.server.transport.deliver import disconnect, send_answer
from harness.server.transport.stoppable_server import STOP_SECONDS, StoppableServer

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
        """Send the request and forward the answer."""
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
