"""A recorder in front of the live API: every client's bytes pass through as they come, and what passed is kept.

An answer goes to the client piece by piece, as it arrives; it is asked for without a content encoding, so that a recording
can be read. What breaks upstream breaks here at the same place. `tunnel` does the same for WebSockets.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import uvicorn

from harness.api.upstream import Upstream, unreachable_advice
from harness.cassettes.format.interaction import Take
from harness.cassettes.recording.in_flight import Passage, Recording, joined, pairs, told
from harness.cassettes.recording.websocket_proxy import OPENING, tunnel
from harness.core.exchange import Answer
from harness.server.asgi import Receive, Scope, Send, read_body, send_answer, uvicorn_config
from harness.server.faulty_delivery import disconnect

OWN = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "expect"),
    }
)
"""Headers of a request that belong to one connection, not to what is asked."""
HOPS = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"trailer", b"upgrade"})
"""The same of an answer."""
MOMENT = 0.25
"""Seconds for an answer to end after its client has left."""
GRACE = 3.0
"""Seconds for what is under way when the recording ends."""
UNREACHED = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
)


class Proxy:
    """The ASGI app: whatever is asked for is asked for at the API, at the same path."""

    def __init__(self, behind: Upstream, recording: Recording, client: httpx2.AsyncClient) -> None:
        self._behind = behind
        self._recording = recording
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request or one connection on."""
        if scope["type"] == "websocket":
            under = await self._begun(scope, "GET", b"")
            await tunnel(under, self._recording, scope["subprotocols"], receive, send, self._unreached)
        elif (body := await read_body(receive)) is not None:
            under = await self._begun(scope, scope["method"], body)
            await _unless_left(self._ask(under, send), receive)
        else:
            return
        self._recording.keep(under)

    async def _begun(self, scope: Scope, method: str, body: bytes) -> Passage:
        query = scope["query_string"].decode("latin-1")
        uri = self._behind.origin + scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        headers = joined([pair for pair in pairs(scope["headers"]) if pair[0] not in OWN])
        return await self._recording.begin(Take(method, uri, headers, body))

    async def _ask(self, under: Passage, send: Send) -> None:
        """Ask, and pass the answer on."""
        sent = under.sent
        try:
            headers = {**sent.headers, "accept-encoding": "identity"}
            request = httpx2.Request(sent.method, sent.uri, headers=headers, content=sent.body or None)
            response = await self._client.send(request, stream=True)
        except UNREACHED as problem:
            await send_answer(send, self._unreached(problem))
        except httpx2.TransportError as problem:
            self._recording.fail(f"{self._behind.origin} broke off without an answer ({_said(problem)})")
            disconnect(send)
        except asyncio.CancelledError:
            self._recording.fail(f"{self._behind.origin} had not answered when the client left. {_way()}")
            raise
        else:
            await _pass(under, response, send)

    def _unreached(self, problem: Exception) -> Answer:
        why = _said(problem)
        what = f"{self._behind.origin} cannot be reached: {why}. {_way(why)}"
        self._recording.fail(what)
        return told(what)


async def _pass(under: Passage, response: httpx2.Response, send: Send) -> None:
    """Pass an answer on as it arrives; a connection that breaks upstream breaks here."""
    headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in HOPS]
    under.answers(response.status_code, pairs(headers), response.reason_phrase)
    try:
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        async for chunk in response.aiter_raw():
            under.chunk(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        under.cut = False
        await send({"type": "http.response.body", "body": b""})
    except httpx2.TransportError:
        disconnect(send)
    finally:
        await response.aclose()


async def _unless_left(passing: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do this until it is done or the client has left; who leaves after the last event has seen all, but not the end."""
    passed, left = asyncio.ensure_future(passing), asyncio.ensure_future(receive())
    await asyncio.wait((passed, left), return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    await asyncio.wait((passed,), timeout=MOMENT)
    passed.cancel()
    with suppress(asyncio.CancelledError):
        await passed


def _way(why: str = "") -> str:
    return unreachable_advice("--upstream", why)


def _said(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


@contextmanager
def proxying(behind: Upstream, recording: Recording, listening: socket.socket) -> Iterator[None]:
    """Record what comes in at a listening socket for the time of a `with` block; the socket is closed at its end."""
    client = httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=OPENING), limits=httpx2.Limits())
    settings = uvicorn_config(Proxy(behind, recording, client))
    settings.date_header = False  # the API's own is passed on
    server = uvicorn.Server(settings)

    async def serve() -> None:
        async with client:
            await server.serve(sockets=[listening])

    def run() -> None:
        with asyncio.Runner(loop_factory=settings.get_loop_factory()) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="harness-record", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(GRACE)
        server.force_exit = True
        thread.join(GRACE)
