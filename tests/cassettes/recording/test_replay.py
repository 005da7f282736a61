"""Recordings served to any client."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.untrusted import NotARecording
from harness.cassettes.recording.recorder import open_recorder
from harness.cassettes.recording.replay import ReplayApp, load_recordings
from harness.core.errors import ConfigError
from tests.support.recordings import JSON, STREAM, URI, over_http
from tests.support.servers.live_server import serving

ANSWER = {**JSON, "x-request-id": "req_1", "content-length": "999"}


def exchange(input: str, answer: str, status: int = 200, **more: Any) -> Interaction:
    """Return a recorded request with this input."""
    return over_http({"input": input}, {"said": answer}, status=status, answer_headers=ANSWER, **more)


def stream(input: str, *chunks: tuple[float, str], cut: bool = False) -> Interaction:
    chunks_at = tuple((time, f"data: {text}\n\n".encode()) for time, text in chunks)
    return over_http({"input": input}, answer_headers=STREAM, chunks=chunks_at, cut=cut)


def socket(*frames: tuple[str, str], cut: bool = False) -> Interaction:
    timed_frames = tuple((number / 20, by, text) for number, (by, text) in enumerate(frames))
    return Interaction("GET", URI, status=101, frames=timed_frames, cut=cut)


class Played:
    """A client of a server of recordings."""

    def __init__(self, player: ReplayApp, origin: str) -> None:
        self.player = player
        self.origin = origin

    def post(self, input: str, key: str = "sk-a") -> httpx2.Response:
        headers = {"authorization": f"Bearer {key}"}
        return httpx2.post(f"{self.origin}/v1/responses", json={"input": input}, headers=headers)

    def reply_to(self, input: str, key: str = "sk-a") -> Any:
        return self.post(input, key).json()["said"]

    def connect(self, path: str = "/v1/responses") -> ClientConnection:
        return connect(f"ws{self.origin.removeprefix('http')}{path}", proxy=None)


@contextmanager
def played(*interactions: Interaction, paced: bool = False) -> Iterator[Played]:
    player = ReplayApp(interactions, paced)
    with serving(player) as origin:
        yield Played(player, origin)


class TestARequest:
    def test_a_request_is_answered_as_it_was(self):
        with played(exchange("hi", "Hello."), exchange("no", "No.", 429)) as client:
            assert client.reply_to("hi") == "Hello."
            refused = client.post("no")
            assert (refused.status_code, refused.headers["x-request-id"]) == (429, "req_1")
            assert client.player.misses == []

    def test_requested_again_gets_the_next_answer_and_then_the_last_and_another_key_begins_anew(self):
        with played(exchange("hi", "1"), exchange("hi", "2")) as client:
            keys = ("sk-a", "sk-b", "sk-a", "sk-a")
            assert [client.reply_to("hi", key) for key in keys] == ["1", "1", "2", "2"]

    def test_an_unrecorded_request_is_reported_with_the_closest_and_what_differs(self):
        with played(exchange("Weather in Paris?", "18"), exchange("Ship it.", "Done.")) as client:
            missed = client.post("Weather in Oslo?")
            assert (missed.status_code, missed.headers["x-should-retry"]) == (418, "false")
            lines = {*missed.json()["error"]["message"].splitlines()}
            assert lines >= {'-  "input": "Weather in Paris?"', '+  "input": "Weather in Oslo?"'}
            assert "Record it with `responses-harness record`, or change the request." in lines
            assert len(client.player.misses) == 1

    def test_a_request_whose_answer_was_cut_breaks_off_again(self):
        with played(stream("hi", (0.0, "a"), cut=True), exchange("json", "x", cut=True)) as client:
            for input in ("hi", "json"):
                with pytest.raises(httpx2.RemoteProtocolError):
                    client.post(input)


class TestAStream:
    def test_a_stream_comes_at_once(self):
        with played(stream("hi", (0.0, "a"), (600.0, "b"))) as client:
            assert client.post("hi").text == "data: a\n\ndata: b\n\n"  # its time limit is much shorter

    def test_a_stream_comes_at_the_pace_of_its_recording_where_that_is_requested(self):
        with played(stream("hi", (0.2, "a"), (0.3, "b")), paced=True) as client:
            begun = time.perf_counter()
            with httpx2.stream("POST", f"{client.origin}/v1/responses", json={"input": "hi"}) as answer:
                came = [(time.perf_counter() - begun, chunk) for chunk in answer.iter_raw()]
        assert [chunk for _, chunk in came] == [b"data: a\n\n", b"data: b\n\n"]
        assert [at >= 0.1 * (place + 2) for place, (at, _) in enumerate(came)] == [True, True]


class TestAConnection:
    HI = ("client", '{"type": "response.create", "input": "hi"}')
    HELLO = ("server", '{"type": "response.completed"}')
    BYE = ("client", '{"input":"bye","type":"response.create"}')

    def test_a_connection_says_what_was_sent(self):
        with played(socket(self.HI, self.HELLO, self.BYE, self.HELLO), paced=True) as client, client.connect() as wire:
            for text in ('{"type":"response.create","input":"hi"}', self.BYE[1].encode()):
                wire.send(text)
                assert wire.recv(5) == self.HELLO[1]

    def test_a_connection_is_chosen_by_its_first_message(self):
        other = ("server", "{}")
        with played(socket(self.HI, self.HELLO), socket(self.BYE, other), socket(self.BYE, self.HELLO)) as client:
            received = []
            for text in (self.BYE[1], self.BYE[1], self.HI[1], self.BYE[1]):
                with client.connect() as wire:
                    wire.send(text)
                    received.append(wire.recv(5))
        assert received == [other[1], self.HELLO[1], self.HELLO[1], self.HELLO[1]]

    @pytest.mark.parametrize(
        ("messages", "problem"),
        [
            (['{"type": "response.create", "input": "ho"}'], '+  "input": "ho"'),
            ([HI[1], HI[1]], "the client sends more than was recorded"),
        ],
    )
    def test_a_connection_that_says_something_else_is_reported(self, messages, problem):
        with played(socket(self.HI, self.HELLO)) as client, client.connect() as wire:
            for text in messages:
                wire.send(text)
            *_, last = (json.loads(text) for text in wire)
            assert (last["type"], last["status"], problem in last["error"]["message"]) == ("error", 418, True)
            with pytest.raises(ConnectionClosedOK):
                wire.recv(5)
            assert len(client.player.misses) == 1

    def test_a_connection_that_broke_off_breaks_off_again(self):
        with played(socket(self.HI, self.HELLO, cut=True)) as client, client.connect() as wire:
            wire.send(self.HI[1])
            wire.recv(5)
            with pytest.raises(ConnectionClosedError):
                wire.recv(5)

    def test_a_connection_may_end_before_anything_is_sent(self):
        with played(socket(self.HI, self.HELLO, self.BYE)) as client:
            with client.connect():
                pass
            with client.connect() as wire:
                wire.send(self.HI[1])
                wire.recv(5)
            assert client.player.misses == []

    def test_a_connection_that_was_refused_is_refused_again(self):
        refused = Interaction("GET", URI, status=401, answer_headers=ANSWER, chunks=((0.1, b'{"error": {}}'),))
        with played(refused) as client:
            with pytest.raises(InvalidStatus) as problem, client.connect():
                pass
            assert problem.value.response.status_code == 401
            assert problem.value.response.body == b'{"error": {}}'

    def test_a_connection_that_was_not_recorded_is_reported(self):
        with played(exchange("hi", "Hello.")) as client:
            with pytest.raises(InvalidStatus) as problem, client.connect("/elsewhere"):
                pass
            assert problem.value.response.status_code == 418
            assert b"not recorded" in (problem.value.response.body or b"")


class TestWhatIsLoaded:
    def record(self, path: Path, *interactions: Interaction) -> None:
        with open_recorder(path, CassetteHeader()) as cassette:
            for interaction in interactions:
                cassette.add(interaction)

    def test_what_is_loaded_is_one_cassette_or_all_of_a_folder(self, tmp_path):
        self.record(tmp_path / "b.yaml", exchange("b", "B"))
        self.record(tmp_path / "a.yaml", exchange("a", "A"), socket(("client", "{}")))
        (tmp_path / "other.yaml").write_text("name: nothing recorded\n")
        answers = [recording.answer for recording in load_recordings(tmp_path)]
        assert answers == [b'{"said":"A"}', b"", b'{"said":"B"}']
        assert [recording.answer for recording in load_recordings(tmp_path / "b.yaml")] == [b'{"said":"B"}']

    def test_whatever_is_loaded_is_a_script_or_an_error(self, tmp_path):
        with pytest.raises(ConfigError, match="it has no recordings"):
            load_recordings(tmp_path)
        (tmp_path / "other.yaml").write_text("name: nothing recorded\n")
        with pytest.raises(NotARecording):
            load_recordings(tmp_path / "other.yaml")
