"""Which worker a request belongs to is read from its head as the server itself reads it, however the head is written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn.server import ServerState

from harness.api.http.body import parse_query
from harness.cluster.workers.request_key import HeadReader, KeyReader
from harness.server.asgi import uvicorn_config
from tests.fuzz.parsers.connection import Wire

KEYS = KeyReader(None, None)
BEARER = b"Authorization: Bearer sk-1\r\n"
HEADS = {
    "plain": (b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n" + BEARER, "sk-1"),
    "line ends before it": (b"\r\n\r\nPOST /v1/responses HTTP/1.1\r\nHost: x\r\n" + BEARER, "sk-1"),
    "one line end before it": (b"\r\nPOST /v1/responses HTTP/1.1\r\n" + BEARER, "sk-1"),
    "longer than 64 KiB": (b"POST /v1/responses HTTP/1.1\r\nX-A: " + b"x" * 80_000 + b"\r\n" + BEARER, "sk-1"),
    "many headers": (b"POST /v1/responses HTTP/1.1\r\n" + b"X-A: y\r\n" * 20_000 + BEARER, "sk-1"),
    "lower case": (b"POST /v1/responses HTTP/1.1\r\nauthorization: bearer sk-1\r\n", "sk-1"),
    "upper case": (b"POST /v1/responses HTTP/1.1\r\nAUTHORIZATION: BEARER sk-1\r\n", "sk-1"),
    "no space": (b"POST /v1/responses HTTP/1.1\r\nAuthorization:Bearer sk-1\r\n", "sk-1"),
    "spaces": (b"POST /v1/responses HTTP/1.1\r\nAuthorization: \t Bearer   sk-1 \t\r\n", "sk-1"),
    "key twice": (b"POST /v1/responses HTTP/1.1\r\nAuthorization: Bearer sk-2\r\n" + BEARER, "sk-1"),
    "key in another header": (b"POST /v1/responses HTTP/1.1\r\nX-A: Authorization: Bearer sk-2\r\n" + BEARER, "sk-1"),
    "absolute address": (b"POST http://x:1/v1/responses HTTP/1.1\r\n" + BEARER, "sk-1"),
    "absolute address of Azure": (b"POST http://x/openai/v1/responses HTTP/1.1\r\nApi-Key: abc\r\n", "abc"),
    "address of Azure": (b"POST /openai/v1/responses?api-version=v1 HTTP/1.1\r\napi-key: abc\r\n", "abc"),
    "escaped address of Azure": (b"POST /%6Fpenai/v1/responses HTTP/1.1\r\napi-key: abc\r\n", "abc"),
    "query": (b"GET /v1/responses/r?a=b#c HTTP/1.1\r\n" + BEARER, "sk-1"),
    "control plane": (b"GET /_harness/report HTTP/1.1\r\n" + BEARER, "sk-1"),
    "upgrade": (b"GET /v1/responses HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + BEARER, "sk-1"),
    "other upgrade": (b"POST /v1/responses HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n" + BEARER, "sk-1"),
    "HTTP/1.0": (b"POST /v1/responses HTTP/1.0\r\n" + BEARER, "sk-1"),
    "CONNECT with a path": (b"CONNECT /v1/responses HTTP/1.1\r\n" + BEARER, "sk-1"),
    "no key": (b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n", ""),
    "an address of no server": (b"OPTIONS * HTTP/1.1\r\n" + BEARER, "sk-1"),
}
BROKEN = {
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\n" + BEARER + b"\r\n",
    "folded": b"POST /v1/responses HTTP/1.1\r\nAuthorization: Bearer\r\n sk-1\r\n\r\n",
    "line feeds alone": (b"POST /v1/responses HTTP/1.1\r\n" + BEARER + b"\r\n").replace(b"\r\n", b"\n"),
    "no address": b"POST HTTP/1.1\r\n" + BEARER + b"\r\n",
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a header without a name": b"POST /v1/responses HTTP/1.1\r\n: x\r\n" + BEARER + b"\r\n",
}


def heard(sent: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """Return the scope that the app of a server gets for these bytes, and what the server says by itself."""
    scopes: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    loop, wire = asyncio.new_event_loop(), Wire()
    config = uvicorn_config(app)
    config.log_config, config.log_level = None, "critical"
    config.load()

    async def feed() -> None:
        protocol: Any = config.http_protocol_class
        wire.protocol = protocol(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        wire.protocol.connection_made(wire)
        wire.protocol.data_received(sent)
        for _ in range(10):
            await asyncio.sleep(0)

    loop.run_until_complete(feed())
    loop.close()
    return (scopes[0] if scopes else None), bytes(wire.said)


@pytest.mark.parametrize(("head", "key"), HEADS.values(), ids=HEADS)
def test_the_key_is_the_one_that_the_app_sees(head: bytes, key: str) -> None:
    handshake = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nHost: x\r\n"
    sent = head + (handshake if b"websocket" in head else b"") + b"\r\n"
    scope, _ = heard(sent)
    assert scope
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    assert KEYS.find(scope["path"], headers, parse_query(scope["query_string"])) == key
    assert KEYS.read(sent) == key
    reader = HeadReader()
    for number in range(0, len(sent), 7):
        assert not reader.is_whole
        reader.feed(sent[number : number + 7])
    assert (reader.is_whole, KEYS.read_from(reader.url, reader.headers)) == (True, key)


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_what_no_server_reads_is_whole_and_has_no_key(sent: bytes) -> None:
    scope, said = heard(sent)
    assert (scope, said[:13]) == (None, b"HTTP/1.1 400 ")
    reader = HeadReader()
    reader.feed(sent)
    assert (reader.is_whole, KEYS.read(sent)) == (True, "")


@pytest.mark.parametrize("begun", [b"", b"\r\n", b"POST /v1/responses HTTP/1.1\r\n" + BEARER])
def test_half_a_head_is_waited_for(begun: bytes) -> None:
    reader = HeadReader()
    if begun:
        reader.feed(begun)
    assert not reader.is_whole
    assert KEYS.read(begun) == ""
