"""Forwards a WebSocket to the live API: messages in both directions, and the close of either side to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.http11 import Response

from harness.api.responses import END_EVENTS
from harness.cassettes.format.interaction import SERVER
from harness.cassettes.recording.in_flight import InFlightInteraction, Recording
from harness.core.exchange import Answer
from harness.core.headers import HeaderPairs, encode_headers, header_pairs, normalize_headers
from harness.server.transport.asgi_types import Receive, Send
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
