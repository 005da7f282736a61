"""Answers that break off or stand still, over a network: what clients get, and that nothing is left behind."""

import asyncio
import http.client
import json
import logging
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from harness.faults import Gate, cut, hang_up, pause
from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.processes import wait_until
from tests.support.servers.live_server import request_head

KEY = "sk-courier"
ONCE = message(["Once ", "upon ", "a time."])
CREATE = json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Keeps the whole journal."""
    with serve_in_thread(MockApi(fallback=lambda _: [message("ok")])) as running:
        yield running


@pytest.fixture
def world(server: Server) -> Iterator[Mock]:
    yield server.api.open(KEY)
    server.api.close(KEY)


@pytest.fixture(autouse=True)
def _nothing_is_logged_or_left(server: Server, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    logger = logging.getLogger("uvicorn")
    logger.addHandler(caplog.handler)
    yield
    state = server._uvicorn.server_state
    assert wait_until(lambda: not state.tasks and not state.connections)
    logger.removeHandler(caplog.handler)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def asked(server: Server, stream: bool = True, timeout: float = 10) -> HTTPConnection:
    """Return a connection on which a response was asked for."""
    wire = HTTPConnection(server.host, server.port, timeout=timeout)
    body = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": stream})
    wire.request("POST", "/v1/responses", body, {"Authorization": f"Bearer {KEY}"})
    return wire


def opened(server: Server) -> ClientConnection:
    url = f"ws://{server.host}:{server.port}/v1/responses"
    return connect(url, additional_headers={"Authorization": f"Bearer {KEY}"}, proxy=None)


class TestACutStream:
    @pytest.mark.parametrize(
        ("after", "whole", "part"), [(0, 0, False), (4, 4, False), (4.5, 4, True), (99, 10, False)]
    )
    def test_breaks_off_without_its_end(self, server, world, after, whole, part):
        world.script(cut(ONCE, after=after))
        with closing(asked(server)) as wire, pytest.raises(http.client.IncompleteRead) as broken:
            wire.getresponse().read()
        *frames, rest = broken.value.partial.split(b"\n\n")
        assert (len(frames), rest != b"") == (whole, part)
        assert rest == b"" or rest.startswith(b"event: response.")

    def test_a_cut_stream_is_followed_by_another_connection(self, server, world):
        world.script(cut(ONCE, after=2), ONCE)
        with closing(asked(server)) as wire, pytest.raises(http.client.IncompleteRead):
            wire.getresponse().read()
        with closing(asked(server)) as wire:
            assert b"event: response.completed" in wire.getresponse().read()


@pytest.mark.slow
def test_a_thousand_cut_streams_are_answered_and_leave_nothing(server, world):
    body = b'{"model": "gpt-4.1", "input": "hi", "stream": true}'

    async def broken(_):
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request_head(body, KEY) + body)
        told = await reader.read()
        writer.close()
        return told.endswith(b"0\r\n\r\n")

    async def all_of_them():
        return [ended for _ in range(20) for ended in await asyncio.gather(*map(broken, range(50)))]

    world.script(*(cut(ONCE, after=number % 22 / 2) for number in range(1000)))
    assert asyncio.run(all_of_them()) == [False] * 1000
    assert len(world.exchanges) == 1000


@pytest.mark.parametrize("after", [0, 1])
def test_a_cut_answer_is_shorter_than_it_says(server, world, after):
    world.script(cut(ONCE, after=after))
    with closing(asked(server, stream=False)) as wire, pytest.raises(http.client.IncompleteRead) as broken:
        wire.getresponse().read()
    assert broken.value.expected > 0
    assert (broken.value.partial == b"") == (after == 0)


def test_a_connection_that_is_hung_up_says_nothing(server, world):
    world.script(hang_up())
    with closing(asked(server)) as wire, pytest.raises(http.client.RemoteDisconnected):
        wire.getresponse()


class TestAPause:
    def test_a_stream_shows_what_was_sent_and_goes_on_when_the_gate_opens(self, server, world):
        gate = Gate()
        world.script(pause(ONCE, after=4, until=gate))
        with closing(asked(server)) as wire:
            answer = wire.getresponse()
            begun = b""
            while begun.count(b"\n\n") < 4:
                begun += answer.read1()
            assert begun.count(b"\n\n") == 4
            gate.open()
            whole = begun + answer.read()
        assert b"event: response.completed" in whole

    def test_a_pause_is_none_at_a_gate_that_is_open(self, server, world):
        gate = Gate()
        gate.open()
        world.script(pause(ONCE, until=gate))
        with closing(asked(server)) as wire:
            assert wire.getresponse().read().count(b"\n\n") == 11

    @pytest.mark.parametrize(("stream", "times"), [(True, 11), (False, 1)])
    def test_a_pause_takes_its_time_before_every_event_or_once_before_an_answer(self, server, world, stream, times):
        world.script(pause(ONCE, seconds=0.02))
        begin = time.monotonic()
        with closing(asked(server, stream)) as wire:
            wire.getresponse().read()
        assert time.monotonic() - begin >= 0.02 * times

    def test_a_pause_may_come_before_a_cut(self, server, world):
        world.script(cut(pause(ONCE, after=3, seconds=0.02), after=3))
        with closing(asked(server)) as wire, pytest.raises(http.client.IncompleteRead) as broken:
            wire.getresponse().read()
        assert broken.value.partial.count(b"\n\n") == 3

    @pytest.mark.parametrize("stream", [True, False])
    def test_a_pause_ends_when_the_client_leaves(self, server, world, stream):
        gate = Gate()
        world.script(pause(ONCE, after=0, until=gate))
        with closing(asked(server, stream, timeout=0.2)) as wire, pytest.raises(TimeoutError):
            wire.getresponse().read()
        assert wait_until(lambda: not gate._callbacks)
        gate.open()

    def test_outlives_its_server(self, world):
        gate = Gate()
        with serve_in_thread(MockApi()) as short:
            short.api.open(KEY).script(pause(ONCE, after=1, until=gate))
            wire = asked(short)
            wire.getresponse().read1()
            assert wait_until(lambda: gate._callbacks != [])
        wire.close()
        gate.open()


def test_a_client_in_any_language_scripts_a_fault_and_opens_a_gate(server, world):
    def control(path, body):
        with closing(HTTPConnection(server.host, server.port, timeout=10)) as wire:
            wire.request("POST", f"/_harness/{path}", json.dumps(body), {"Authorization": f"Bearer {KEY}"})
            answer = wire.getresponse()
            return answer.status, json.loads(answer.read())

    text = {"type": "output_text", "text": "Once upon a time.", "annotations": [], "logprobs": []}
    once = {"type": "message", "role": "assistant", "content": [text]}
    held = [once, {"type": "pause", "after": 2, "until": "shown"}]
    turns = [held, {"type": "rate_limit", "after": "200ms"}]
    assert control("script", {"turns": turns}) == (200, {"turns": 2})
    with closing(asked(server)) as wire:
        answer = wire.getresponse()
        answer.read1()
        assert wait_until(lambda: world.gate("shown")._callbacks != [])
        assert control("open", {"gate": "shown"}) == (200, {"open": "shown"})
        assert b"event: response.completed" in answer.read()
    with closing(asked(server)) as wire:
        assert wire.getresponse().status == 429
    status, said = control("open", {"gate": 1})
    assert (status, said["error"]["message"]) == (400, '`gate` must be the name of a gate: {"gate": "shown"}.')


class TestASocket:
    def test_a_socket_is_cut_without_a_goodbye(self, server, world):
        world.script(cut(ONCE, after=4))
        with opened(server) as wire:
            wire.send(CREATE)
            told = [json.loads(wire.recv(10))["type"] for _ in range(4)]
            with pytest.raises(ConnectionClosedError) as broken:
                wire.recv(10)
        assert told[-1] == "response.content_part.added"
        assert broken.value.rcvd is None

    def test_a_socket_is_hung_up(self, server, world):
        world.script(hang_up())
        with opened(server) as wire:
            wire.send(CREATE)
            with pytest.raises(ConnectionClosedError):
                wire.recv(10)

    def test_a_socket_stands_still_and_forgets_nothing_the_client_says_meanwhile(self, server, world):
        gate = Gate()
        world.script(pause(ONCE, after=4, until=gate), message("Two."))
        with opened(server) as wire:
            wire.send(CREATE)
            for _ in range(4):
                wire.recv(10)
            wire.send(CREATE)
            with pytest.raises(TimeoutError):
                wire.recv(0.1)
            gate.open()
            told = [json.loads(wire.recv(10)) for _ in range(7)]
            assert told[-1]["type"] == "response.completed"
            while (last := json.loads(wire.recv(10)))["type"] != "response.completed":
                pass
        assert last["response"]["output"][0]["content"][0]["text"] == "Two."

    def test_a_socket_may_be_left_while_it_stands_still(self, server, world):
        gate = Gate()
        world.script(pause(ONCE, after=2, until=gate))
        with opened(server) as wire:
            wire.send(CREATE)
            wire.recv(10)
        assert wait_until(lambda: not gate._callbacks)

    def test_a_socket_takes_its_time(self, server, world):
        world.script(pause(ONCE, seconds=0.01))
        with opened(server) as wire:
            begin = time.monotonic()
            wire.send(CREATE)
            for _ in range(11):
                wire.recv(10)
            assert time.monotonic() - begin >= 0.1
