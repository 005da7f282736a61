"""What the edge sees of each exchange: when it came and went, how much of the answer went out, whether the client stayed."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection as Wire
from itertools import count
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from harness.core.delivery import SendTimes
from harness.core.limits import Limits
from harness.explain.turn import hang_up_causes
from harness.faults import Gate, chunks, cut, hang_up, pause
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.in_process import Client
from tests.support.processes import wait_until
from tests.support.websockets import Socket

LONG = "word " * 200_000
"""A text that is more than the buffers between the server and a client that does not read."""
_NUMBERS = count(1)


@pytest.fixture(scope="module", params=[True, False], ids=["at once", "over ASGI"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that keeps connections answers small requests at once, another one everything over ASGI."""
    with serve_in_thread(MockApi(limits=Limits(exchanges=50)), keep_alive=request.param) as running:
        yield running


@pytest.fixture
def mock(server: Server) -> Mock:
    return server.api.open(f"sk-edge-{next(_NUMBERS)}")


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with closing(Wire(server.host, server.port, timeout=60)) as made:
        yield made


def ask(wire: Wire, mock: Mock, **members: Any) -> http.client.HTTPResponse:
    body = json.dumps({"model": "gpt-4.1", "input": "hi", **members})
    headers = {"Authorization": f"Bearer {mock.api_key}", "Content-Type": "application/json"}
    wire.request("POST", "/v1/responses", body, headers)
    return wire.getresponse()


def ended(mock: Mock, number: int = 1) -> SendTimes:
    """Return the times of an exchange once nothing more goes out."""
    assert wait_until(lambda: number in mock.world.edge and mock.world.edge[number].ended)
    return mock.world.edge[number]


def read_raw(server: Server, mock: Mock, **members: Any) -> bytes:
    """Return all bytes of an answer on a connection that the server then closes."""
    body = json.dumps({"model": "gpt-4.1", "input": "hi", **members}).encode()
    head = (
        f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {mock.api_key}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((server.host, server.port), timeout=60) as made:
        made.sendall(head.encode() + body)
        return b"".join(iter(lambda: made.recv(65536), b""))


def read_events(answer: http.client.HTTPResponse, count: int) -> None:
    begun = b""
    while begun.count(b"\n\n") < count:
        begun += answer.read1()


class TestAnAnswerThatWentOut:
    def test_an_answer_that_went_out_has_its_times_in_order(self, wire: Wire, mock: Mock) -> None:
        mock.script("Hi.")
        before = time.time()
        ask(wire, mock).read()
        seen, after = ended(mock), time.time()
        assert seen.first_byte is not None
        assert seen.last_byte is not None
        assert before <= seen.arrived <= seen.first_byte <= seen.last_byte <= after
        assert (seen.whole, seen.left, seen.events) == (True, None, None)

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("text", ["Hi.", LONG[:100_000]], ids=["small", "large"])
    def test_an_answer_that_went_out_has_as_many_bytes_as_the_client_got(
        self, server: Server, mock: Mock, text: str, stream: bool
    ) -> None:
        mock.script(text)
        assert len(read_raw(server, mock, stream=stream)) == ended(mock).size

    def test_an_answer_that_went_out_counts_the_events_of_its_stream(self, wire: Wire, mock: Mock) -> None:
        mock.script("Hi.")
        received = ask(wire, mock, stream=True).read()
        assert ended(mock).events == received.count(b"\n\n") > 4

    def test_an_answer_that_went_out_has_the_time_of_each_event_that_went_out_by_itself(
        self, wire: Wire, mock: Mock
    ) -> None:
        mock.script(pause("Hi.", seconds=0.1, after=3))
        before = time.time()
        ask(wire, mock, stream=True).read()
        seen, after = ended(mock), time.time()
        times = [seen.event_time(index) or 0 for index in range(seen.events or 0)]
        assert before < times[0] <= times[2] <= times[3] - 0.09 < times[-1] <= after
        assert times == sorted(times)

    def test_an_answer_that_went_out_has_the_time_of_a_gate_that_was_opened(self, wire: Wire, mock: Mock) -> None:
        gate = Gate()
        mock.script(pause("Hi.", after=3, until=gate))
        answer = ask(wire, mock, stream=True)
        read_events(answer, 3)
        opened = time.time()
        gate.open()
        answer.read()
        third, fourth = (ended(mock).event_time(index) for index in (2, 3))
        assert third is not None
        assert fourth is not None
        assert third <= opened <= fourth

    def test_an_answer_that_went_out_has_one_time_for_the_events_that_went_out_together(
        self, wire: Wire, mock: Mock
    ) -> None:
        mock.script("Hi.")
        ask(wire, mock, stream=True).read()
        seen = ended(mock)
        assert seen.event_times == ()
        assert {seen.event_time(index) for index in range(seen.events or 0)} == {seen.last_byte}

    def test_an_answer_that_went_out_that_is_long_has_a_time_for_each_write(self, wire: Wire, mock: Mock) -> None:
        mock.script(LONG[:100_000])
        ask(wire, mock, stream=True).read()
        seen = ended(mock)
        assert 0 < len(seen.event_times) < (seen.events or 0)
        assert seen.event_time((seen.events or 0) - 1) == seen.last_byte

    def test_an_answer_that_went_out_may_be_a_refusal(self, wire: Wire, mock: Mock) -> None:
        ask(wire, mock, temperature=9).read()
        assert ended(mock).whole

    def test_an_answer_that_went_out_has_the_number_of_its_connection(self, server: Server, mock: Mock) -> None:
        mock.script("Hi.", repeat=True)
        for _ in range(2):
            with closing(Wire(server.host, server.port, timeout=60)) as wire:
                ask(wire, mock).read()
                kept = wire.sock is not None
                ask(wire, mock).read()
        numbers = [ended(mock, number).connection for number in range(1, 5)]
        assert all(numbers)
        assert (numbers[0] == numbers[1], numbers[2] == numbers[3]) == (kept, kept)
        assert numbers[0] < numbers[2]


class TestAnAnswerThatIsCut:
    @pytest.mark.parametrize(("after", "events"), [(0, 0), (4, 4), (4.5, 4), (99, 9)])
    def test_an_answer_that_is_cut_counts_the_events_that_went_out_whole(
        self, wire: Wire, mock: Mock, after: float, events: int
    ) -> None:
        mock.script(cut("Once.", after=after))
        with pytest.raises(http.client.IncompleteRead) as broken:
            ask(wire, mock, stream=True).read()
        seen = ended(mock)
        assert (seen.events, seen.whole, seen.left) == (events, False, None)
        assert [seen.event_time(index) is not None for index in range(10)] == [index < events for index in range(10)]
        assert seen.size > len(broken.value.partial)

    def test_an_answer_that_is_cut_counts_them_in_whatever_pieces_they_go_out(self, wire: Wire, mock: Mock) -> None:
        mock.script(chunks(cut("Once.", after=4.5), size=7))
        with pytest.raises(http.client.IncompleteRead):
            ask(wire, mock, stream=True).read()
        assert (ended(mock).events, ended(mock).whole) == (4, False)

    def test_an_answer_that_is_cut_may_be_no_answer_at_all(self, wire: Wire, mock: Mock) -> None:
        mock.script(hang_up())
        with pytest.raises(http.client.RemoteDisconnected):
            ask(wire, mock)
        seen = ended(mock)
        assert (seen.first_byte, seen.last_byte, seen.size, seen.whole, seen.left) == (None, None, 0, False, None)


class TestAClientThatLeaves:
    def test_a_client_that_leaves_is_noted_with_the_seconds_and_the_events_it_got(self, wire: Wire, mock: Mock) -> None:
        mock.script(pause("Once.", after=4, until=Gate()))
        answer = ask(wire, mock, stream=True)
        read_events(answer, 4)
        assert not mock.world.edge[1].ended
        time.sleep(0.1)
        answer.close()
        wire.close()
        seen = ended(mock)
        assert seen.left is not None
        assert 0.1 <= seen.left < 3
        assert (seen.events, seen.whole) == (4, False)

    def test_a_client_that_leaves_may_not_have_waited_for_the_first_byte(self, server: Server, mock: Mock) -> None:
        mock.script(pause("Once.", until=Gate()))
        with closing(Wire(server.host, server.port, timeout=0.1)) as wire, pytest.raises(TimeoutError):
            ask(wire, mock)
        seen = ended(mock)
        assert seen.left is not None
        assert (seen.size, seen.first_byte, seen.whole) == (0, None, False)
        (cause,) = hang_up_causes(mock.world)
        assert cause.what.startswith("The client hung up on request 1 after 0.")

    @pytest.mark.slow
    def test_a_client_that_leaves_may_have_read_too_little(self, wire: Wire, mock: Mock) -> None:
        mock.script(LONG)
        answer = ask(wire, mock, stream=True)
        answer.read(1000)
        answer.close()
        wire.close()
        seen = ended(mock)
        assert seen.left is not None
        assert not seen.whole
        assert seen.events is not None
        assert 0 < seen.events < 200_000

    def test_a_client_that_goes_after_the_end_has_stayed(self, wire: Wire, mock: Mock) -> None:
        mock.script("Hi.")
        ask(wire, mock).read()
        wire.close()
        assert (ended(mock).whole, ended(mock).left) == (True, None)


class TestAWebSocket:
    @pytest.fixture
    def wire(self, server: Server, mock: Mock) -> Iterator[ClientConnection]:
        url = f"ws://{server.host}:{server.port}/v1/responses"
        with connect(url, additional_headers={"Authorization": f"Bearer {mock.api_key}"}, proxy=None) as made:
            yield made

    @staticmethod
    def create(wire: ClientConnection) -> None:
        wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"}))

    def test_a_web_socket_has_an_exchange_for_each_event_of_the_client(
        self, wire: ClientConnection, mock: Mock
    ) -> None:
        mock.script("Hi.", "Ho.")
        for _ in range(2):
            self.create(wire)
            while json.loads(wire.recv())["type"] != "response.completed":
                pass
        first, second = ended(mock, 1), ended(mock, 2)
        assert first.whole
        assert first.events == len(mock.exchanges[0].answer.events or ())
        assert first.connection == second.connection > 0
        assert first.last_byte is not None
        assert first.last_byte <= second.arrived
        assert first.size > 1000
        assert [*first.event_times] == sorted(first.event_times)
        assert (len(first.event_times), first.event_times[-1]) == (first.events, first.last_byte)

    def test_a_web_socket_that_is_cut_counts_what_went_out(self, wire: ClientConnection, mock: Mock) -> None:
        mock.script(cut("Once.", after=3))
        self.create(wire)
        with pytest.raises(ConnectionClosedError):
            list(iter(wire.recv, None))
        assert (ended(mock).events, ended(mock).whole, ended(mock).left) == (3, False, None)

    def test_a_web_socket_notes_a_client_that_leaves(self, wire: ClientConnection, mock: Mock) -> None:
        mock.script(pause("Once.", after=2, until=Gate()))
        self.create(wire)
        assert [json.loads(wire.recv())["sequence_number"] for _ in range(2)] == [0, 1]
        wire.close()
        seen = ended(mock)
        assert seen.left is not None
        assert (seen.events, seen.whole) == (2, False)

    def test_a_request_of_a_web_socket_that_is_refused_as_an_event_is_an_event(
        self, wire: ClientConnection, mock: Mock
    ) -> None:
        wire.send("{")
        assert json.loads(wire.recv())["type"] == "error"
        assert (ended(mock).events, ended(mock).whole) == (1, True)


class TestWithoutANetwork:
    def test_an_answer_goes_out_when_it_is_returned(self) -> None:
        client = Client()
        client.mock.script("Hi.", "Ho.")
        before = time.time()
        client.ask()
        client.ask(stream=True)
        first, second = (client.world.edge[number] for number in (1, 2))
        assert before <= first.arrived <= (first.first_byte or 0) == first.last_byte <= second.arrived <= time.time()
        assert (first.whole, first.events, first.size, first.connection) == (True, None, 0, 0)
        assert second.events == len(client.world.exchanges[1].answer.events or ())
        assert second.event_time(0) is None

    def test_the_events_of_a_socket_go_out_when_they_are_returned(self) -> None:
        socket = Socket()
        socket.mock.script("Hi.")
        assert socket.world.edge == {}
        events = socket.create()
        assert socket.world.edge[1].events == len(events)
