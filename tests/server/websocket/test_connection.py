"""Sockets over a network: bad clients get an event or a close, never a traceback; what they leave behind is nothing."""

import asyncio
import gc
import http.client
import json
import logging
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol
from websockets.sync.client import ClientConnection, connect

from harness.core.exchange import ReceivedRequest
from harness.core.limits import Limits
from harness.items import message
from harness.server import http_server as module
from harness.server.http_server import App, Server, serve_in_thread, uvicorn_config
from harness.server.mock_api import MockApi
from harness.server.transport.connection import HttpConnection
from harness.server.websocket.connection import serve_session
from harness.server.websocket.session import SocketSession
from tests.support.processes import wait_until
from tests.support.servers.live_server import over_tls

CREATE = {"type": "response.create", "model": "gpt-4.1", "input": "hi"}
LONG = "word " * 12_000


@pytest.fixture(autouse=True)
def _nothing_is_logged(server: Server, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    logger = logging.getLogger("uvicorn")
    logger.addHandler(caplog.handler)
    yield
    assert wait_until(lambda: not server._uvicorn.server_state.tasks)
    logger.removeHandler(caplog.handler)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def opened(server: Server, path: str = "/v1/responses", key: str = "sk-wire") -> ClientConnection:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return connect(f"ws://{server.host}:{server.port}{path}", additional_headers=headers, max_size=None, proxy=None)


def answered(wire: ClientConnection) -> list[dict[str, Any]]:
    """Return the events up to the one that ends an answer."""
    events = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(json.loads(wire.recv(10)))
    return events


def code_of(wire: ClientConnection) -> str:
    return str(answered(wire)[-1]["error"]["code"])


def test_a_socket_that_has_ended_leaves_nothing_to_collect(server: Server) -> None:
    def connections() -> int:
        return sum(isinstance(held, HttpConnection | ServerProtocol) for held in gc.get_objects())

    gc.freeze()  # what there is now is not among the objects
    gc.disable()
    try:
        for _ in range(3):
            with opened(server) as wire:
                wire.send(json.dumps(CREATE))
                assert answered(wire)
        assert wait_until(lambda: connections() == 0)
    finally:
        gc.enable()


class TestAnUpgrade:
    def test_an_upgrade_with_a_wrong_key_is_refused_as_http(self, server: Server) -> None:
        with pytest.raises(InvalidStatus) as refused:
            opened(server, key="nope")
        response = refused.value.response
        assert (response.status_code, response.headers["content-type"]) == (401, "application/json")
        assert response.headers["x-request-id"].startswith("req_")
        assert "Incorrect API key provided: nope." in json.loads(response.body)["error"]["message"]

    @pytest.mark.parametrize(
        ("path", "status", "words"),
        [("/v1/realtime", 404, b"GET /v1/realtime is not part of this mock"), ("/_harness/health", 403, b"")],
    )
    def test_elsewhere_is_refused(self, server: Server, path: str, status: int, words: bytes) -> None:
        with pytest.raises(InvalidStatus) as refused:
            opened(server, path)
        assert refused.value.response.status_code == status
        assert words in refused.value.response.body

    def test_an_upgrade_is_what_makes_a_get_a_connection(self, server: Server) -> None:
        plain = http.client.HTTPConnection(server.host, server.port, timeout=10)
        plain.request("GET", "/v1/responses", headers={"Authorization": "Bearer sk-wire"})
        assert plain.getresponse().status == 405
        plain.close()

    @pytest.mark.parametrize(
        "first", ["", "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-early\r\n\r\n"]
    )
    def test_an_upgrade_may_have_frames_right_behind_it(self, server: Server, first: str) -> None:
        head = (
            "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Authorization: Bearer sk-early\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        ping = Frame(Opcode.PING, b"early").serialize(mask=True)
        create = Frame(Opcode.TEXT, json.dumps(CREATE).encode()).serialize(mask=True)
        said = bytearray()
        with socket.create_connection((server.host, server.port), timeout=10) as wire:
            wire.sendall((first + head).encode() + ping + create)
            while b"response.completed" not in said and (part := wire.recv(65536)):
                said += part
        assert 0 < said.index(b" 101 ") < said.index(b"\x8a\x05early") < said.index(b"response.created")


class TestAConnection:
    @pytest.mark.slow
    def test_a_connection_answers_a_thousand_events_that_come_at_once_in_their_order(self, server: Server) -> None:
        with opened(server, key="sk-burst") as wire:
            for number in range(1000):
                wire.send(json.dumps({**CREATE, "metadata": {"number": str(number)}}))
            numbers = [answered(wire)[-1]["response"]["metadata"]["number"] for _ in range(1000)]
        assert numbers == [str(number) for number in range(1000)]

    def test_a_connection_lets_others_have_their_turn_while_it_sends_without_a_pause(self) -> None:
        order: list[str] = []

        async def served(name: str) -> None:
            session = MockApi(fallback=lambda _: [message("ok")]).open_session(
                ReceivedRequest("GET", "/v1/responses", {"authorization": "Bearer sk-1"})
            )
            waiting = [{"type": "websocket.disconnect"}, *([{"type": "websocket.receive", "text": "{}"}] * 3)]

            async def receive() -> Any:
                return waiting.pop()

            async def send(said: Any) -> None:
                order.append(name)

            assert isinstance(session, SocketSession)
            await serve_session(session, receive, send)

        async def both() -> None:
            await asyncio.gather(served("one"), served("other"))

        asyncio.run(both())
        assert order == ["one", "one", "other", "other", *(["one", "other"] * 2)]

    def test_a_connection_tells_a_long_answer_whole(self) -> None:
        with serve_in_thread(MockApi(fallback=lambda _: [message(LONG)])) as own, opened(own) as wire:
            wire.send(json.dumps(CREATE))
            assert "".join(event.get("delta", "") for event in answered(wire)) == LONG

    def test_a_connection_is_closed_after_an_hour_of_its_world(self, server: Server) -> None:
        with opened(server, key="sk-old") as wire:
            wire.send(json.dumps(CREATE))
            answered(wire)
            server.api.worlds["sk-old"].skip(3600)
            wire.send(json.dumps(CREATE))
            assert code_of(wire) == "websocket_connection_limit_reached"
            with pytest.raises(ConnectionClosedOK):
                wire.recv(10)
        with opened(server, key="sk-old") as wire:
            wire.send(json.dumps(CREATE))
            assert answered(wire)[-1]["type"] == "response.completed"

    def test_a_connection_does_not_keep_the_server_from_ending(self) -> None:
        with serve_in_thread(MockApi()) as own:
            wire = opened(own)
        assert not own._thread.is_alive()
        with pytest.raises(ConnectionClosedError):
            wire.recv(10)


class TestAMessage:
    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ("x" * 2_000_000, "Invalid body: failed to parse JSON value."),
            (b"\x00\xff", "Invalid body: encountered a unicode decode error"),
        ],
        ids=["long", "no utf-8"],
    )
    def test_a_message_that_is_no_event_is_answered_by_an_error(
        self, server: Server, said: str | bytes, words: str
    ) -> None:
        with opened(server) as wire:
            wire.send(said)
            answer = answered(wire)[-1]
            assert (answer["status"], answer["error"]["code"]) == (400, "invalid_json")
            assert answer["error"]["message"].startswith(words)
            wire.send(json.dumps(CREATE))
            assert answered(wire)[-1]["type"] == "response.completed"

    def test_a_message_may_be_large(self, server: Server) -> None:
        with opened(server) as wire:
            wire.send(json.dumps({**CREATE, "input": "x" * 9_000_000}))
            assert answered(wire)[-1]["type"] == "response.completed"

    def test_a_message_in_pieces_is_put_together(self, server: Server) -> None:
        with opened(server) as wire:
            wire.send(iter(json.dumps(CREATE)))
            assert answered(wire)[-1]["type"] == "response.completed"

    def test_a_message_that_is_too_large_closes_the_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_BODY_SIZE", 1000)
        with serve_in_thread(MockApi()) as own, opened(own) as wire:
            wire.send("x" * 2000)
            with pytest.raises(ConnectionClosedError, match="1009"):
                wire.recv(10)

    def test_a_message_of_text_that_is_no_utf8_is_answered_by_an_error(self, server: Server) -> None:
        with raw(server) as wire:
            wire.sendall(Frame(Opcode.TEXT, b'{"type": "\xff"}').serialize(mask=True, extensions=[]))
            assert b'"code":"invalid_json"' in wire.recv(4096)


def raw(server: Server) -> socket.socket:
    """Return a connection of which a test writes every byte."""
    wire = socket.create_connection((server.host, server.port), 10)
    lines = ["GET /v1/responses HTTP/1.1", "Host: x", "Authorization: Bearer sk-raw", "Upgrade: websocket"]
    lines += ["Connection: Upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13", "", ""]
    wire.sendall("\r\n".join(lines).encode())
    assert wire.recv(4096).startswith(b"HTTP/1.1 101 ")
    return wire


def test_an_address_that_is_none_is_refused(server: Server) -> None:
    with socket.create_connection((server.host, server.port), 10) as wire:
        wire.sendall(b"GET http://:x/v1 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        assert wire.recv(4096).startswith(b"HTTP/1.1 400 Bad Request\r\n")


class TestAClientThatLeaves:
    @pytest.mark.parametrize("sent", [0, 1, 20])
    def test_a_client_that_leaves_without_a_word_leaves_nothing_behind(self, server: Server, sent: int) -> None:
        state = server._uvicorn.server_state
        event = Frame(Opcode.TEXT, json.dumps(CREATE).encode()).serialize(mask=True, extensions=[])
        for _ in range(5):
            wire = raw(server)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.sendall(event * sent + event[:9])
            wire.close()
        assert wait_until(lambda: not state.connections and not state.tasks)
        assert server.api.worlds["sk-raw"].problems == []

    def test_a_client_that_leaves_in_the_middle_of_an_answer_leaves_nothing_behind(self) -> None:
        with serve_in_thread(MockApi(fallback=lambda _: [message(LONG)], limits=Limits(exchanges=1))) as own:
            event = Frame(Opcode.TEXT, json.dumps(CREATE).encode()).serialize(mask=True, extensions=[])
            with raw(own) as wire:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                wire.sendall(event * 10)
                wire.recv(10)
            state = own._uvicorn.server_state
            assert wait_until(lambda: not state.connections and not state.tasks)

    def test_a_client_that_leaves_with_a_frame_that_is_none_is_hung_up_on(self, server: Server) -> None:
        with raw(server) as wire:
            wire.sendall(b"\xff\xff\xff\xff")
            assert wire.recv(4096)[:1] == b"\x88"


def test_a_server_loads_what_sockets_need_with_the_first_of_them() -> None:
    made = uvicorn_config(App(MockApi()))
    made.load()
    assert made.ws_protocol_class is module.websocket_protocol


def test_a_server_stops_though_a_client_over_tls_has_not_ended_its_closing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The connection waits for the client's end of TLS, and may no longer be sent a closing frame."""
    upgrade = "GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    upgrade += (
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer sk-w\r\n\r\n"
    )
    with over_tls(MockApi(), tmp_path_factory) as origin:
        address = urlsplit(origin)
        secure = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
        plain = socket.create_connection((address.hostname, address.port), 10)
        silent = secure.wrap_socket(plain, server_hostname="localhost")
        silent.sendall(upgrade.encode())
        assert silent.recv(1000).startswith(b"HTTP/1.1 101 ")
        silent.sendall(Frame(Opcode.CLOSE, struct.pack("!H", 1000)).serialize(mask=True))
        assert silent.recv(2) == bytes([0x80 | Opcode.CLOSE, 2])
    silent.close()


def test_a_client_connects_to_azure_with_the_key_of_a_resource_or_a_token(server: Server) -> None:
    url = f"ws://{server.host}:{server.port}/openai/v1/responses"
    by_header, token = {"api-key": "sk-azure"}, {"Authorization": "Bearer sk-azure"}
    for at, headers in ((url, by_header), (url, token), (f"{url}?api-key=sk-azure", {})):
        with connect(at, additional_headers=headers, max_size=None, proxy=None) as wire:
            wire.send(json.dumps({**CREATE, "model": "gpt-5.4"}))
            assert "content_filters" in answered(wire)[-1]["response"]
    with pytest.raises(InvalidStatus, match="401"):
        connect(url, proxy=None)
