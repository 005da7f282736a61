"""The server: what goes over the wire is what the mock says, however many clients ask and however they leave."""

import asyncio
import contextlib
import gc
import http.client
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness.api.http.bodies import parse_query
from harness.core.errors import ConfigError, Problem
from harness.core.exchange import Answer
from harness.core.limits import Limits
from harness.explain.find_causes import find_suspects
from harness.items import message
from harness.report.judge_world import Permitted, judge_world
from harness.server import http_server as module
from harness.server.control_plane.app import control_app
from harness.server.http_server import App, Server, bind, serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.transport.asgi_types import AsgiApp
from harness.server.transport.deliver import WRITE_SIZE, send_answer
from harness.server.websocket.session import SocketSession
from harness.world.world import MAX_FAILED
from tests.support.processes import wait_until
from tests.support.servers.live_server import request_head

GOOD = b'{"model": "gpt-4.1", "input": "hi"}'
STREAM = b'{"model": "gpt-4.1", "input": "hi", "stream": true}'
LONG = "word " * 12_000
"""Streamed, some 3 MB: more than the buffers between the server and a client that does not read."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=lambda _: [message(LONG)], limits=Limits(exchanges=1))) as running:
        yield running


def read_events(text: str) -> list[dict[str, Any]]:
    """Return the data of every event of a stream, whose names must agree with it."""
    frames = [frame.split("\n") for frame in text.strip().split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    assert [name.removeprefix("event: ") for name, _ in frames] == [event["type"] for event in events]
    return events


def body_of(answer: bytes) -> str:
    """Return the body of a chunked HTTP answer."""
    _, _, rest = answer.partition(b"\r\n\r\n")
    whole = b""
    while (size := int(rest[: rest.index(b"\r\n")], 16)) > 0:
        start = rest.index(b"\r\n") + 2
        whole += rest[start : start + size]
        rest = rest[start + size + 2 :]
    return whole.decode()


class TestAStream:
    async def one(self, server: Server, key: str) -> str:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request_head(STREAM, key) + STREAM)
        answer = await reader.read(-1)
        writer.close()
        await writer.wait_closed()
        assert answer.startswith(b"HTTP/1.1 200 ")
        return body_of(answer)

    def test_a_stream_is_the_same_for_200_clients_at_once(self) -> None:
        async def all_of(server: Server) -> list[str]:
            return await asyncio.gather(*(self.one(server, f"sk-{number}") for number in range(200)))

        with serve_in_thread(MockApi(fallback=lambda _: [message("one two three four")])) as own:
            streams = [read_events(text) for text in asyncio.run(all_of(own))]
        assert len({stream[0]["response"]["id"] for stream in streams}) == 200
        told = [
            [(event["type"], event["sequence_number"], event.get("delta")) for event in stream] for stream in streams
        ]
        assert all(entry == told[0] for entry in told)
        assert [number for _, number, _ in told[0]] == list(range(len(told[0])))
        assert {stream[-1]["type"] for stream in streams} == {"response.completed"}

    def test_a_stream_longer_than_one_write_arrives_whole(self, server: Server) -> None:
        events = read_events(asyncio.run(self.one(server, "sk-long")))
        assert "".join(event.get("delta", "") for event in events) == LONG

    @pytest.mark.parametrize("size", [0, 1, WRITE_SIZE, WRITE_SIZE + 1, 3 * WRITE_SIZE])
    def test_a_stream_is_cut_into_writes_without_loss(self, size: int) -> None:
        sent: list[Any] = []

        async def send(said: Any) -> None:
            sent.append(said)

        answer = Answer(200, "x" * size)
        asyncio.run(send_answer(send, answer))
        start, *writes = sent
        assert b"".join(write["body"] for write in writes) == json.dumps("x" * size).encode()
        assert (b"content-length", str(size + 2).encode()) in start["headers"]
        assert [write.get("more_body", False) for write in writes] == [True] * (len(writes) - 1) + [False]
        assert max(len(write["body"]) for write in writes) <= WRITE_SIZE


class TestAClientThatLeaves:
    def leave(self, server: Server) -> None:
        """Read the first bytes of a stream that the server cannot finish writing, then reset the connection."""
        with socket.socket() as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.connect((server.host, server.port))
            wire.sendall(request_head(STREAM) + STREAM)
            assert wire.recv(1000).startswith(b"HTTP/1.1 200 ")

    def open_files(self) -> int:
        return len(os.listdir("/proc/self/fd"))

    def memory(self) -> int:
        """Resident megabytes."""
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20

    @pytest.mark.slow
    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads what Linux knows of a process")
    def test_a_client_that_leaves_in_the_middle_of_a_stream_leaves_nothing_behind(self, server: Server) -> None:
        state = server._uvicorn.server_state
        self.leave(server)
        assert wait_until(lambda: not state.connections and not state.tasks)
        files, before = self.open_files(), self.memory()
        for _ in range(25):
            self.leave(server)
        assert wait_until(lambda: not state.connections and not state.tasks)
        assert self.open_files() <= files
        assert self.memory() - before < 40, "25 streams of 3 MB were kept"
        assert server.api.worlds["sk-server"].problems == []

    def test_a_client_that_leaves_before_the_body_is_whole_is_not_answered_nor_written_down(
        self, server: Server
    ) -> None:
        with socket.create_connection((server.host, server.port), 10) as wire:
            wire.sendall(request_head(GOOD, "sk-half") + GOOD[:-1])
        assert wait_until(lambda: not server._uvicorn.server_state.connections)
        assert "sk-half" not in server.api.worlds


class TestABody:
    def answer(self, *messages: dict[str, Any]) -> list[Any]:
        """Return what the app sends for a body that comes in these ASGI messages."""
        waiting, sent = list(messages), []

        async def receive() -> Any:
            return waiting.pop(0)

        async def send(said: Any) -> None:
            sent.append(said)

        scope = {
            "type": "http",
            "path": "/v1/responses",
            "method": "POST",
            "query_string": b"",
            "headers": [(b"authorization", b"Bearer sk-1")],
        }
        asyncio.run(App(MockApi(fallback=lambda _: [message("ok")]))(scope, receive, send))
        return [*sent, len(waiting)]

    def part(self, body: bytes, more: bool) -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": more}

    def test_a_body_may_come_in_parts(self) -> None:
        start, _, left = self.answer(self.part(GOOD[:9], True), self.part(GOOD[9:], False))
        assert (start["status"], left) == (200, 0)

    def test_a_body_may_be_absent(self) -> None:
        assert self.answer({"type": "http.request"})[0]["status"] == 400

    def test_a_body_beyond_the_limit_is_not_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_BODY_SIZE", 20)
        parts = [self.part(b" " * 10, True) for _ in range(9)]
        start, _, left = self.answer(*parts)
        assert (start["status"], left) == (400, 6)

    def test_a_body_that_never_ends_gets_no_answer(self) -> None:
        assert self.answer(self.part(GOOD, True), {"type": "http.disconnect"}) == [0]


class TestAQuery:
    @pytest.mark.parametrize(
        ("query", "read"),
        [
            (b"", {}),
            (b"a=1&b=2", {"a": "1", "b": "2"}),
            (b"a=1&a=2", {"a": "2"}),
            (b"a[]=1&a[]=2", {"a": ["1", "2"]}),
            (b"a%5B%5D=1", {"a": ["1"]}),
            (b"a=1&a[]=2", {"a": ["1", "2"]}),
            (b"a=&b", {"a": "", "b": ""}),
            (b"a=%C3%A9+x&b=%FF", {"a": "é x", "b": "\ufffd"}),
            (b"[]=1", {"": ["1"]}),
        ],
    )
    def test_a_query_is_read_as_names_and_texts(self, query: bytes, read: dict[str, Any]) -> None:
        assert parse_query(query) == read


class TestADefectOfTheServer:
    """A request that it fails to answer, or not to the end, is in the verdict, whatever the client makes of it."""

    FIX = "This is a defect of the harness: report it with the traceback that the server printed."

    def assert_in_verdict(self, api: MockApi, *words: str) -> None:
        judged = judge_world(api.open("sk-defect"), Permitted(unused=True))
        (cause,) = judged.causes
        assert cause.what.startswith("The server failed to answer 1 request: ")
        assert all(word in cause.what for word in words), cause.what
        assert cause.fix == self.FIX
        assert "The server failed to answer 1 request" in judged.verdict
        assert "The server failed to answer 1 request" in judged.report
        assert judge_world(api.open("sk-another")).verdict == ""

    def fail(self, *_: object, **__: object) -> None:
        raise LookupError("no such part")

    @pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses?a=b"], ids=["at once", "over ASGI"])
    @pytest.mark.parametrize("place", ["handle", "deliver"])
    def test_a_defect_of_the_server_over_http(self, monkeypatch: pytest.MonkeyPatch, path: str, place: str) -> None:
        with serve_in_thread(MockApi(fallback=lambda _: [message(LONG)])) as server:
            monkeypatch.setattr(*(server.api, "handle") if place == "handle" else (App, "deliver"), self.fail)
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as wire:
                wire.request("POST", path, STREAM, {"authorization": "Bearer sk-defect"})
                assert wire.getresponse().status == 500
            self.assert_in_verdict(server.api, "POST /v1/responses: fail (", "raised LookupError: no such part")

    def test_a_defect_of_the_server_over_a_websocket(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serve_in_thread(MockApi()) as server:
            monkeypatch.setattr(SocketSession, "receive", self.fail)
            url = f"ws{server.base_url.removeprefix('http')}/responses"
            with connect(url, additional_headers={"authorization": "Bearer sk-defect"}, proxy=None) as wire:
                wire.send("{}")
                with pytest.raises(ConnectionClosed):
                    wire.recv(30)
            self.assert_in_verdict(server.api, "GET /v1/responses: fail (", "raised LookupError: no such part")

    def test_a_defect_of_the_server_explains_what_a_test_of_its_own_misses(self) -> None:
        mock = MockApi().open("sk-defect")
        mock.script(message("never asked for"))
        mock.world.note_failed(Problem("it broke"), 3)
        assert [cause.what for cause in judge_world(mock).causes] == [
            "The server failed to answer 3 requests: it broke"
        ]
        (suspect, *_) = find_suspects(mock.world)
        assert suspect.what == "The server failed to answer 3 requests: it broke"

    def test_a_defect_of_the_server_has_so_many_reasons_and_no_more(self) -> None:
        world = MockApi().open("sk-defect").world
        for number in range(1_000):
            world.note_failed(Problem(f"reason {number}"))
        assert len(world.all_failed) == MAX_FAILED
        assert sum(world.all_failed.values()) == 1_000


class TestAServer:
    def test_a_server_says_where_its_api_begins(self, server: Server) -> None:
        assert server.base_url == f"http://127.0.0.1:{server.port}/v1"

    def test_a_server_puts_an_ipv6_address_in_brackets(self) -> None:
        try:
            with serve_in_thread(MockApi(), "::1") as own:
                assert own.base_url == f"http://[::1]:{own.port}/v1"
        except ConfigError:
            pytest.skip("this machine has no IPv6")

    def test_a_server_ends_with_its_block(self) -> None:
        with serve_in_thread(MockApi()) as own:
            pass
        with pytest.raises(OSError):
            socket.create_connection((own.host, own.port), 1)

    def test_a_server_ends_although_a_client_is_still_connected(self) -> None:
        with serve_in_thread(MockApi()) as own:
            wire = socket.create_connection((own.host, own.port), 5)
            wire.sendall(b"POST /v1/responses HTTP/1.1\r\n")
        with wire:
            assert not own._thread.is_alive()

    def test_a_server_shares_nothing_with_another(self) -> None:
        with serve_in_thread(MockApi()) as one, serve_in_thread(MockApi()) as other:
            assert one.port != other.port
            assert one.api.worlds is not other.api.worlds

    @pytest.mark.parametrize(("keep_alive", "connection"), [(True, None), (False, "close")])
    def test_connections_stay_open_unless_keep_alive_is_off(self, keep_alive: bool, connection: str | None) -> None:
        api = MockApi(fallback=lambda _: [message("hi")])
        with serve_in_thread(api, keep_alive=keep_alive) as running:
            for body in (GOOD, STREAM):
                client = http.client.HTTPConnection(running.host, running.port)
                client.request("POST", "/v1/responses", body, {"authorization": "Bearer sk-1"})
                answer = client.getresponse()
                assert answer.read()
                assert (answer.status, answer.headers["connection"], answer.will_close) == (
                    200,
                    connection,
                    not keep_alive,
                )
                client.close()

    def test_a_server_lets_the_control_plane_speak_for_itself(self, server: Server) -> None:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
        connection.request("GET", "/_harness/health")
        said = json.loads(connection.getresponse().read())
        connection.close()
        assert said["status"] == "ok"

    def test_others_are_served_while_the_first_control_request_loads_the_control_plane(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answered = threading.Event()

        def build_late(api: MockApi) -> AsgiApp:
            assert answered.wait(30)
            return control_app(api)

        monkeypatch.setattr("harness.server.control_plane.app.control_app", build_late)
        with serve_in_thread(MockApi(fallback=lambda _: [message("hi")])) as running:
            first, other = (http.client.HTTPConnection(running.host, running.port, timeout=60) for _ in range(2))
            with contextlib.closing(first), contextlib.closing(other):
                first.request("GET", "/_harness/worlds")
                other.request("POST", "/v1/responses", GOOD, {"authorization": "Bearer sk-1"})
                assert other.getresponse().status == 200
                answered.set()
                assert first.getresponse().status == 200

    @pytest.mark.parametrize(
        ("host", "port", "why"),
        [
            ("127.0.0.1", 70_000, "port must be 0-65535"),
            ("no-such-host.invalid", 0, "cannot listen on no-such-host.invalid:0: "),
            ("203.0.113.1", 0, "cannot listen on 203.0.113.1:0: "),
        ],
    )
    def test_a_server_that_cannot_listen_says_why_and_what_to_do(self, host: str, port: int, why: str) -> None:
        with pytest.raises(ConfigError) as told:
            bind(host, port)
        assert why in str(told.value)
        assert "Choose another --port" in str(told.value)

    def test_a_port_in_use_is_reported(self, server: Server) -> None:
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{server.port}: Address already in use"):
            bind("127.0.0.1", server.port)
