"""A WebSocket passed through to the live API: messages both ways, and the end of one side as the end of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.http11 import Response

from harness.cassettes.format.interaction import SERVER
from harness.cassettes.recording.in_flight import InFlightInteraction, Recording
from harness.core.exchange import Answer
from harness.core.headers import HeaderPairs, encode_headers, header_pairs, normalize_headers
from harness.server.asgi import Receive, Send
from harness.server.websocket import CLOSE_NORMAL, refuse_upgrade

SWITCHING_PROTOCOLS = 101
CONNECTION_LOST = 1006
"""The code that stands for a connection that was lost."""
UNSENDABLE_CODES = frozenset({1004, 1005, CONNECTION_LOST, 1015})
"""Codes that say what happened and are never sent."""
OPEN_TIMEOUT = 30.0
"""Seconds for a connection to the API to open; an answer may take as long as the client waits."""
UPGRADE_HOP_HEADERS = ("connection", "upgrade", "transfer-encoding")
WEBSOCKET_HEADER_PREFIX = "sec-websocket-"
"""How headers begin that belong to one connection."""


async def tunnel_websocket(
    under: InFlightInteraction,
    recording: Recording,
    subprotocols: Sequence[str],
    receive: Receive,
    send: Send,
    unreached: Callable[[Exception], Answer],
) -> None:
    """Open the connection upstream, then pass messages on; who refuses the upgrade is passed on as HTTP."""
    await receive()
    try:
        upstream = await _open_upstream(under, subprotocols)
    except InvalidStatus as refused:
        await _forward_refusal(under, refused.response, send)
    except (OSError, InvalidHandshake, InvalidURI) as problem:
        await refuse_upgrade(unreached(problem), send)
    else:
        headers = _upgrade_answer_headers(cast("Response", upstream.response))
        under.start_answer(SWITCHING_PROTOCOLS, headers)
        await send(
            {"type": "websocket.accept", "subprotocol": upstream.subprotocol, "headers": encode_headers(headers)}
        )
        await _relay_messages(under, recording, upstream, receive, send)


async def _open_upstream(under: InFlightInteraction, subprotocols: Sequence[str]) -> ClientConnection:
    uri = f"ws{under.request.uri.removeprefix('http')}"
    return await connect(
        uri,
        additional_headers=[
            pair for pair in under.request.headers.items() if not pair[0].startswith(WEBSOCKET_HEADER_PREFIX)
        ],
        subprotocols=cast("Any", subprotocols) or None,
        ssl=httpx2.create_ssl_context() if uri.startswith("wss:") else None,
        user_agent_header=None,
        compression=None,
        max_size=None,
        open_timeout=OPEN_TIMEOUT,
    )


def _upgrade_answer_headers(response: Response) -> HeaderPairs:
    """The headers of an answer to an upgrade, without those of the connection."""
    return [
        pair
        for pair in header_pairs(response.headers.raw_items())
        if not pair[0].startswith(WEBSOCKET_HEADER_PREFIX) and pair[0] not in UPGRADE_HOP_HEADERS
    ]


async def _forward_refusal(under: InFlightInteraction, response: Response, send: Send) -> None:
    headers, body = _upgrade_answer_headers(response), bytes(response.body or b"")
    under.start_answer(response.status_code, headers, response.reason_phrase)
    under.add_chunk(body)
    under.cut = False
    await refuse_upgrade(Answer(response.status_code, body, normalize_headers(headers)), send)


async def _relay_messages(
    under: InFlightInteraction, recording: Recording, upstream: ClientConnection, receive: Receive, send: Send
) -> None:
    up = asyncio.ensure_future(_relay_from_client(under, recording, upstream, receive))
    down = asyncio.ensure_future(_relay_from_upstream(under, upstream, send))
    await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
    left = up.done()
    for each in (up, down):
        each.cancel()
        with suppress(asyncio.CancelledError):
            await each
    code = upstream.close_code
    under.cut = not left and code in (None, CONNECTION_LOST)
    if left:
        await upstream.close(CLOSE_NORMAL if (said := up.result()) in UNSENDABLE_CODES else said)
    elif not under.cut:
        reason = upstream.close_reason or ""
        await send(
            {"type": "websocket.close", "code": CLOSE_NORMAL if code in UNSENDABLE_CODES else code, "reason": reason}
        )


async def _relay_from_client(
    under: InFlightInteraction, recording: Recording, upstream: ClientConnection, receive: Receive
) -> int:
    """Pass on what the client says; returns the code with which it has left."""
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text")
        data = message["bytes"] if text is None else text
        await recording.add_client_message(under, data if isinstance(data, str) else data.decode("utf-8", "replace"))
        with suppress(ConnectionClosed):  # then the other direction ends, too
            await upstream.send(data)
    return int(message.get("code") or CLOSE_NORMAL)


async def _relay_from_upstream(under: InFlightInteraction, upstream: ClientConnection, send: Send) -> None:
    """Pass on what the API says, until it hangs up."""
    with suppress(ConnectionClosed):
        while True:
            said = await upstream.recv()
            text = said if isinstance(said, str) else said.decode("utf-8", "replace")
            under.add_frame(SERVER, text)
            await send({"type": "websocket.send", "text": text})
