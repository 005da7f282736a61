"""What passes a recorder: the same for the client as without it, and all of it taken down."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from harness.cassettes.recording import proxy
from harness.cassettes.recording.proxy import CLIENT_GONE_TIMEOUT
from harness.faults import Gate, cut, hang_up, pause, rate_limit
from harness.items import message
from harness.server.http_server import bind
from tests.support.processes import wait_until
from tests.support.servers.live_server import Front, recorded, request_head
from tests.support.servers.stalling import ENDLESS, SILENT, STUCK, TRICKLING, TRICKLING_HEAD, stalling

KEY = {"authorization": "Bearer sk-live"}
HI = {"model": "gpt-4.1", "input": "hi"}
STREAM = {**HI, "stream": True}
ONCE = message(["Once ", "upon ", "a ", "time."])


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client(trust_env=True, timeout=60) as made:
        yield made


def asked(front: Front) -> socket.socket:
    """Return a connection over which a request was sent; the client leaves when it is closed."""
    host, port = front.origin.removeprefix("http://").split(":")
    wire = socket.create_connection((host, int(port)))
    body = json.dumps(HI).encode()
    wire.sendall(request_head(body, "sk-live") + body)
    return wire


class TestWhatAClientGets:
    def test_what_a_client_gets_is_what_it_gets_without_a_recorder(self, live, mock, front, client):
        def responses_of(origin: str) -> list[tuple[int, bytes, dict[str, str]]]:
            mock.close("sk-live")
            mock.open("sk-live").script(ONCE, ONCE)
            bodies = (HI, STREAM, {"model": "gpt-4.1", "input": 3}, {})
            answers = [client.post(f"{origin}/v1/responses", json=body, headers=KEY) for body in bodies]
            answers.append(client.get(f"{origin}/v1/responses/resp_%20x?include[]=a&limit=2", headers=KEY))
            answers.append(client.get(f"{origin}/elsewhere", headers=KEY))
            dropped = ("date", "connection", "transfer-encoding")
            return [
                (a.status_code, a.content, {n: v for n, v in a.headers.items() if n not in dropped}) for a in answers
            ]

        assert responses_of(front.origin) == responses_of(live)

    def test_what_a_client_gets_has_the_date_of_the_api_once(self, front, client, world):
        world.script(ONCE)
        answer = client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
        assert len(answer.headers.get_list("date")) == 1

    def test_what_a_client_gets_comes_as_it_arrives(self, front, client, world):
        gate = Gate()
        world.script(pause(ONCE, after=5, until=gate))
        with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
            pieces = answer.iter_raw()
            first = b"".join(next(pieces) for _ in range(5))
            assert b"Once" in first
            assert b"time" not in first
            gate.open()
            assert b"response.completed" in b"".join(pieces)

    def test_what_a_client_gets_is_reported_when_the_limit_is_reached(self, front, client, world):
        world.script(rate_limit(after="7s"))
        answer = client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
        assert front.interactions()[0].answer_headers["retry-after"] == "7"

    def test_breaks_off_where_the_api_breaks_off(self, front, client, world):
        world.script(cut(ONCE, after=5))
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(f"{front.origin}/v1/responses", json=STREAM, headers=KEY)

    def test_what_a_client_gets_is_nothing_when_the_api_hangs_up(self, front, client, world):
        world.script(hang_up())
        with pytest.raises(httpx2.TransportError):
            client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
        assert front.recording.interactions == []
        assert [problem for problem in front.recording.problems if "broke off without an answer" in problem]


class TestWhatIsTakenDown:
    def test_request_and_answer_are_recorded_as_they_were_sent(self, live, front, client, world):
        world.script(ONCE)
        answer = client.post(f"{front.origin}/v1/responses?a=b", json=HI, headers={**KEY, "x-mine": "1"})
        (interaction,) = front.interactions()
        assert (interaction.method, interaction.uri) == ("POST", f"{live}/v1/responses?a=b")
        assert (interaction.status, interaction.reason) == (200, "OK")
        assert (interaction.body, interaction.answer) == (answer.request.content, answer.content)
        assert (interaction.headers["x-mine"], interaction.answer_headers["content-type"]) == ("1", "application/json")
        assert not interaction.cut

    def test_what_is_taken_down_keeps_every_chunk_and_when_it_came(self, front, client, world):
        gate = Gate()
        world.script(pause(ONCE, after=5, until=gate))
        with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
            pieces = answer.iter_raw()
            for _ in range(5):
                next(pieces)
            time.sleep(0.2)
            gate.open()
            assert b"time" in b"".join(pieces)
        (interaction,) = front.interactions()
        seconds = [time for time, _ in interaction.chunks]
        assert seconds == sorted(seconds)
        assert len(interaction.chunks) == interaction.answer.count(b"event: ")
        assert seconds[5] - seconds[4] >= 0.2

    def test_a_broken_stream_is_recorded_as_far_as_it_came_and_marked_as_cut(self, front, client, world):
        world.script(cut(ONCE, after=5))
        with contextlib.suppress(httpx2.TransportError):
            client.post(f"{front.origin}/v1/responses", json=STREAM, headers=KEY)
        (interaction,) = front.interactions()
        assert (interaction.cut, interaction.answer.count(b"event: ")) == (True, 5)

    def test_an_answer_whose_client_leaves_is_recorded_as_far_as_it_came(self, front, client, world):
        gate = Gate()
        world.script(pause(ONCE, after=3, until=gate))
        with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
            next(answer.iter_raw())
        (interaction,) = front.interactions()
        gate.open()
        assert (interaction.cut, b"time" in interaction.answer) == (True, False)

    def test_an_answer_in_progress_is_recorded_as_cut(self, front, client, world):
        gate = Gate()
        world.script(message("whole"), pause(ONCE, after=3, until=gate))
        client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
        with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            assert wait_until(front.recording.in_progress)
            assert [interaction.cut for interaction in front.recording.in_progress().values()] == [True]
            assert [interaction.cut for interaction in front.recording.interactions] == [False]
            gate.open()
            assert b"time" in b"".join(pieces)
        assert [interaction.cut for interaction in front.interactions(2)] == [False, False]
        assert not front.recording.in_progress()

    def test_what_is_taken_down_after_an_interruption_is_only_what_is_whole(self, front, client, world):
        gate = Gate()
        world.script(message("whole"), pause(ONCE, after=3, until=gate))
        client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
        with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
            next(answer.iter_raw())
            front.recording.interrupt()
        time.sleep(2 * CLIENT_GONE_TIMEOUT)
        gate.open()
        assert [interaction.cut for interaction in front.recording.interactions] == [False]

    def test_what_is_taken_down_stands_in_the_order_in_which_the_requests_came(self, front, client, world):
        gate = Gate()
        world.when(input="slow").script(pause(message("slow"), until=gate))
        world.script(message("fast"))
        with ThreadPoolExecutor() as clients:
            url, asked = f"{front.origin}/v1/responses", {**HI, "input": "slow"}
            clients.submit(client.post, url, json=asked, headers=KEY)
            assert wait_until(lambda: len(world.exchanges) == 1)
            client.post(url, json={**HI, "input": "fast"}, headers=KEY)
            gate.open()
        assert [b"slow" in interaction.body for interaction in front.interactions(2)] == [True, False]


class TestAnApiThatIsNotThere:
    @pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"])
    def test_an_api_that_is_not_there_is_reported_in_a_form_that_no_sdk_tries_again(self, client, url):
        with recorded(url) as front:
            answer = client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
            assert (answer.status_code, answer.headers["x-should-retry"]) == (418, "false")
            told = answer.json()["error"]["message"]
            assert [part for part in (url[:-3], "cannot be reached", "--upstream") if part not in told] == []
            assert (front.recording.interactions, len(front.recording.problems)) == ([], 1)

    def test_nor_is_one_whose_certificate_nobody_trusts(self, live, client, monkeypatch):
        monkeypatch.delenv("SSL_CERT_FILE")
        with recorded(live) as front:
            answer = client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
            assert (answer.status_code, "SSL_CERT_FILE" in answer.text) == (418, True)

    def test_or_not_soon_enough_for_the_client_is_a_problem(self, front, client, world):
        gate = Gate()
        world.script(pause(ONCE, until=gate))
        with asked(front):
            assert wait_until(lambda: len(world.exchanges) == 1)
        assert wait_until(lambda: len(front.recording.problems) == 1)
        gate.open()
        assert "had not answered when the client left" in next(iter(front.recording.problems))
        assert (front.recording.interactions, front.recording.in_progress()) == ([], {})

    def test_while_the_recording_is_interrupted_is_none(self, front, client, world):
        gate = Gate()
        world.script(pause(ONCE, until=gate))
        with asked(front):
            assert wait_until(lambda: len(world.exchanges) == 1)
            front.recording.interrupt()
        time.sleep(2 * CLIENT_GONE_TIMEOUT)
        gate.open()
        assert not front.recording.problems

    def test_an_api_that_is_not_there_that_speaks_no_http_breaks_off(self, client):
        with bind("127.0.0.1", 0) as listening, recorded(f"http://127.0.0.1:{listening.getsockname()[1]}/v1") as front:

            def answer() -> None:
                each, _ = listening.accept()
                with each:
                    each.recv(4096)
                    each.sendall(b"what?\r\n\r\n")

            threading.Thread(target=answer, daemon=True).start()
            with pytest.raises(httpx2.TransportError):
                client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
            assert front.recording.interactions == []


class TestAnApiThatIsSilent:
    @pytest.mark.parametrize("stall", [SILENT, TRICKLING_HEAD], ids=["silent", "trickling head"])
    def test_an_api_that_is_silent_before_its_answer_has_none(self, client, stall):
        with stalling(stall) as origin, recorded(f"{origin}/v1", timeout=0.3) as front:
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(f"{front.origin}/v1/responses", json=HI, headers=KEY)
            assert wait_until(lambda: not front.recording.in_progress() and not front.recording.interactions)
        assert front.recording.interactions == []
        (problem,) = front.recording.problems
        assert "sent nothing for 0.3 s. What came before is recorded as cut" in problem
        assert "--timeout SECONDS" in problem

    def test_within_its_answer_has_what_came_before_as_cut(self, client):
        with stalling(STUCK) as origin, recorded(f"{origin}/v1", timeout=0.3) as front:
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(f"{front.origin}/v1/responses", json=STREAM, headers=KEY)
            (interaction,) = front.interactions()
        assert (interaction.cut, interaction.answer) == (True, b"data: 1\n\n")
        (problem,) = front.recording.problems
        assert "sent nothing for 0.3 s" in problem

    def test_never_for_long_may_go_on_for_as_long_as_its_client_listens(self, client):
        with stalling(TRICKLING) as origin, recorded(f"{origin}/v1", timeout=1) as front:
            with client.stream("POST", f"{front.origin}/v1/responses", json=STREAM, headers=KEY) as answer:
                pieces = [piece for piece, _ in zip(answer.iter_raw(), range(24), strict=False)]
            (interaction,) = front.interactions()
        assert (interaction.cut, interaction.answer.startswith(b"".join(pieces))) == (True, True)
        assert interaction.chunks[-1][0] > 1
        assert not front.recording.problems

    def test_never_and_endless_is_recorded_up_to_a_limit(self, client, monkeypatch):
        monkeypatch.setattr(proxy, "MAX_MESSAGE_BYTES", 1 << 20)
        with stalling(ENDLESS) as origin, recorded(f"{origin}/v1") as front:
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(f"{front.origin}/v1/responses", json=STREAM, headers=KEY)
            (interaction,) = front.interactions()
        assert interaction.cut
        assert 1 << 20 < len(interaction.answer) < 2 << 20
        (problem,) = front.recording.problems
        assert "sent an answer of more than 1,048,576 bytes" in problem

    def test_an_api_that_is_silent_for_good_does_not_hold_the_end_of_the_recording(self):
        with stalling(TRICKLING) as origin, recorded(f"{origin}/v1") as front, asked(front):
            assert wait_until(lambda: front.recording.in_progress() or front.recording.interactions)
        assert not [thread for thread in threading.enumerate() if thread.name == "harness-record"]


def test_a_client_that_leaves_before_its_request_is_whole_is_no_exchange(front):
    host, port = front.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as wire:
        wire.sendall(b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
    time.sleep(0.1)
    assert front.recording.interactions == []
