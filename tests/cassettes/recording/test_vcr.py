"""vcrpy with our cassettes: streams arrive while they are recorded, and are told again byte for byte."""

import asyncio
import io
import json
import re
import time
from collections.abc import Iterator

import pytest
import requests
import vcr

from harness.cassettes.files import RecordError, journal_path, lock_cassette, read_cassette
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.cassettes.recording.journal_file import recover_recording
from harness.cassettes.recording.recorder import SecretFound, open_recorder
from harness.cassettes.recording.vcr import body_bytes, interaction_from_vcr, use_cassette
from harness.cassettes.scrubbing.mask_interactions import Scrubbed, Scrubber
from harness.faults import Gate, chunks, cut, hang_up, pause
from harness.items import message
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock

KEY = "sk-AbCd1234EfGh5678IjKlMnOpQrSt"
AUTH = {"authorization": f"Bearer {KEY}"}
REQUEST = {"model": "gpt-4.1", "input": "hi"}
SLOW = 0.06
WORDS = [f"word{number} " for number in range(10)]


class ApiWithUrl(MockApi):
    """The live API: a mock of another server, with its address."""

    url = ""


@pytest.fixture(scope="module")
def live() -> Iterator[ApiWithUrl]:
    mock = ApiWithUrl()
    with serve_in_thread(mock) as server:
        mock.url = f"{server.base_url}/responses"
        yield mock


@pytest.fixture
def world(live: MockApi) -> Iterator[Mock]:
    yield live.open(KEY)
    live.close(KEY)


@pytest.fixture
def first(http, live, world, file):
    """The answer `one` to the only request in the cassette; the API would answer `two` to another."""
    world.script(message("one"), message("two"))
    with use_cassette(file, "all"):
        return send(http, live.url)


def send(http, url, body=REQUEST, headers=AUTH):
    with http.Client() as client:
        return client.post(url, json=body, headers=headers)


def read_stream(http, url, body, until=None, then=lambda: None):
    """The chunks of a stream, each with the seconds after which it came; `then` is called after the first one."""
    got, began = [], time.perf_counter()
    with http.Client() as client, client.stream("POST", url, json={**body, "stream": True}, headers=AUTH) as response:
        for chunk in response.iter_raw():
            got.append((time.perf_counter() - began, chunk))
            if len(got) == 1:
                then()
            if until and until in chunk:
                break
    return got


def read_stream_async(http, url, body):
    async def read():
        async with http.AsyncClient() as client:
            asking = client.stream("POST", url, json={**body, "stream": True}, headers=AUTH)
            async with asking as response:
                return [chunk async for chunk in response.aiter_raw()]

    return asyncio.run(read())


def slowly(world):
    """Ten pauses between what a stream tells, so that it comes in pieces."""
    turn = message(WORDS)
    for number in range(10):
        turn = pause(turn, after=4 + number, seconds=SLOW)
    world.script(turn)


def test_what_was_recorded_is_replayed_byte_for_byte(http, live, world, file):
    world.script(message("one"), message(["t", "wo"]))
    with use_cassette(file, "all") as session:
        first, second = send(http, live.url), read_stream(http, live.url, REQUEST)
        assert session.problems == []
    recorded = read_cassette(file)
    assert recorded.header.sdk == f"python-{http.__name__}"
    assert KEY not in file.read_text(encoding="utf-8")
    with use_cassette(file):
        again = send(http, "https://api.openai.com/v1/responses", headers={"authorization": "Bearer other"})
        caught = read_stream(http, "https://api.openai.com/v1/responses", REQUEST)
    assert (again.status_code, again.reason_phrase) == (200, "OK")
    assert again.content == recorded.interactions[0].answer
    assert len(again.content) == len(first.content)
    assert again.json()["output"][0]["content"] == first.json()["output"][0]["content"]
    assert [chunk for _, chunk in caught] == [chunk for _, chunk in recorded.interactions[1].chunks]
    assert sum(len(chunk) for _, chunk in caught) == sum(len(chunk) for _, chunk in second)


def record_with_a_rest(http, live, world, file):
    """Record a stream whose rest comes `SLOW` seconds after the client has read its beginning."""
    gate = Gate()
    world.script(pause(message(WORDS), after=6, until=gate))

    def go_on():
        time.sleep(SLOW)
        gate.open()

    with use_cassette(file, "all"):
        return read_stream(http, live.url, REQUEST, then=go_on)


def test_a_stream_reaches_the_client_while_it_is_recorded_and_keeps_its_times(http, live, world, file):
    got = record_with_a_rest(http, live, world, file)
    (interaction,) = read_cassette(file).interactions
    times = [time for time, _ in interaction.chunks]
    assert [len(data) for _, data in interaction.chunks] == [len(data) for _, data in got]
    assert times == sorted(times)
    assert times[-1] - times[0] >= SLOW


def test_it_is_replayed_at_once_or_at_the_pace_at_which_it_came(http, live, world, file):
    record_with_a_rest(http, live, world, file)
    with use_cassette(file, pace=True):
        slow = read_stream(http, live.url, REQUEST)
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"\[0\.\d+, (?=\d+\])", "[600.0, ", text), encoding="utf-8")
    assert {time for time, _ in read_cassette(file).interactions[0].chunks} == {600.0}
    with use_cassette(file):
        quick = read_stream(http, live.url, REQUEST)
    assert slow[-1][0] >= SLOW
    assert quick[-1][0] < 600
    assert [chunk for _, chunk in slow] == [chunk for _, chunk in quick]


def test_asynchronous_clients_are_recorded_and_replayed_too(http, live, world, file):
    world.script(message("two"))
    with use_cassette(file, "all"):
        first = read_stream_async(http, live.url, REQUEST)
    with use_cassette(file, pace=True):
        again = read_stream_async(http, live.url, REQUEST)
    assert [len(chunk) for chunk in again] == [len(chunk) for chunk in first]
    assert b"".join(again) == read_cassette(file).interactions[0].answer


@pytest.mark.parametrize("read", [read_stream, read_stream_async])
def test_a_stream_that_breaks_off_is_recorded_as_far_as_it_came_and_breaks_off_again(http, live, world, file, read):
    world.script(cut(message("cut here"), after=4))

    def broken():
        with pytest.raises(http.RemoteProtocolError):
            read(http, live.url, REQUEST)

    with use_cassette(file, "all"):
        broken()
    (interaction,) = read_cassette(file).interactions
    assert interaction.cut
    assert interaction.answer.count(b"event:") == 4
    with use_cassette(file):
        broken()


@pytest.mark.parametrize("until", [b"word3", b"response.completed"])
def test_a_client_that_stops_reading_after_an_event_has_cut_nothing(http, live, world, file, until):
    slowly(world)
    with use_cassette(file, "all"):
        read_stream(http, live.url, REQUEST, until)
    (interaction,) = read_cassette(file).interactions
    assert until in interaction.answer
    assert not interaction.cut


def test_a_client_that_stops_reading_within_an_event_has_cut_it(http, live, world, file):
    world.script(chunks(message("one"), size=50))
    with use_cassette(file, "all"):
        read_stream(http, live.url, REQUEST, b"event: response.created")
    (interaction,) = read_cassette(file).interactions
    assert interaction.cut


def test_an_error_of_the_api_is_recorded_like_any_answer(http, live, world, file):
    with use_cassette(file, "all"):
        send(http, live.url, {"model": "gpt-4.1"}, AUTH)
        send(http, live.url, REQUEST, {"authorization": "Bearer none"})
    assert [interaction.status for interaction in read_cassette(file).interactions] == [400, 401]


@pytest.mark.usefixtures("first")
def test_a_miss_is_a_418_that_names_the_closest_recording(http, live, file):
    with use_cassette(file) as session:
        answer = send(http, live.url, {**REQUEST, "input": "ho"})
    assert (answer.status_code, answer.headers["x-should-retry"]) == (418, "false")
    told = answer.json()["error"]["message"]
    assert [str(problem) for problem in session.problems] == [told]
    assert told.startswith(f"{file.as_posix()}: not recorded: the closest recording, POST /v1/responses, differs:")
    assert '-  "input": "hi",\n+  "input": "ho",' in told


@pytest.mark.usefixtures("first")
def test_new_records_only_what_is_not_there_and_what_was_played_is_not_played_again(http, live, world, file):
    with use_cassette(file) as session:
        assert [send(http, live.url).status_code for _ in range(2)] == [200, 418]
    assert "was recorded once, and has been replayed as often" in session.problems[0].what
    with use_cassette(file, "new"):
        send(http, live.url)
        send(http, live.url)
    assert len(world.exchanges) == len(read_cassette(file).interactions) == 2


def test_all_records_everything_again(http, live, first, file):
    with use_cassette(file, "all"):
        second = send(http, live.url)
    (interaction,) = read_cassette(file).interactions
    assert [b"two" in answer for answer in (first.content, second.content, interaction.answer)] == [False, True, True]


@pytest.mark.usefixtures("first")
def test_a_live_request_cannot_continue_what_only_the_cassette_knows(http, live, file):
    with use_cassette(file, "new") as session:
        id = send(http, live.url).json()["id"]
        assert send(http, live.url, {**REQUEST, "previous_response_id": id}).status_code == 418
    assert f"the request names {id}, which the cassette gave and the API does not know" in session.problems[0].what


def test_a_websocket_over_http_is_refused(http, live, file):
    with use_cassette(file, "all") as session:
        assert send(http, live.url, headers={"upgrade": "websocket"}).status_code == 418
    assert "a WebSocket is not recorded in process" in session.problems[0].what


def test_one_that_is_answered_at_last_is_no_problem(http, live, world, file):
    world.script(hang_up(), message("hello"))
    with use_cassette(file, "all") as session:
        with pytest.raises(http.RemoteProtocolError):
            send(http, live.url)
        assert len(session.failures) == 1
        send(http, live.url)
        assert session.failures == []
    assert file.exists()


def test_other_clients_are_recorded_as_vcrpy_does(live, world, file):
    world.script(message("one"))
    with use_cassette(file, "all"):
        first = requests.post(live.url, json=REQUEST, headers=AUTH, timeout=10)
    with use_cassette(file):
        again = requests.post(live.url, json=REQUEST, headers=AUTH, timeout=10)
        with pytest.raises(Exception, match='"input": "ho"'):
            requests.post(live.url, json={**REQUEST, "input": "ho"}, headers=AUTH, timeout=10)
    assert len(again.content) == len(first.content)
    assert b"one" in again.content


def test_the_gate_holds_here_too(http, live, world, file, monkeypatch):
    world.script(message("one"))
    monkeypatch.setattr(Scrubber, "scrub", lambda _, plain: Scrubbed(plain))
    before = http.HTTPTransport.handle_request
    with pytest.raises(SecretFound), use_cassette(file, "all"):
        send(http, live.url)
    assert not file.exists()
    assert http.HTTPTransport.handle_request is before


def record_and_raise(ask, file, problem):
    with use_cassette(file, "all"):
        ask()
        raise problem


ENDS = {KeyboardInterrupt: True, SystemExit: True, ValueError: False, pytest.fail.Exception: False}
"""How a block ends, and whether the next recorder recovers what it has recorded."""


@pytest.mark.parametrize(("raised", "is_left"), ENDS.items())
def test_what_an_interrupted_block_has_recorded_is_left_and_that_of_a_failed_one_forgotten(
    http, live, world, file, raised, is_left
):
    world.script(message("one"))
    with pytest.raises(raised):
        record_and_raise(lambda: send(http, live.url), file, raised("now"))
    assert (file.exists(), journal_path(file).exists()) == (False, is_left)
    with use_cassette(file, "new") as session:
        assert bool(session.recorder.recovered) is is_left


def test_what_another_library_has_received_is_left_as_well(live, world, file):
    world.script(message("one"))
    with pytest.raises(KeyboardInterrupt):
        record_and_raise(
            lambda: requests.post(live.url, json=REQUEST, headers=AUTH, timeout=10), file, KeyboardInterrupt()
        )
    assert recover_recording(file).exchange_count == 1


def test_a_new_exchange_keeps_the_websockets_of_the_cassette(http, live, world, file):
    socket = Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=((0.1, "client", "{}"),))
    with open_recorder(file, CassetteHeader()) as recorder:
        recorder.add(socket)
    world.script(message("one"))
    with use_cassette(file, "new"):
        send(http, live.url)
    assert [bool(interaction.frames) for interaction in read_cassette(file).interactions] == [False, True]


def test_two_recorders_and_a_cassette_that_is_not_there_are_reported(file):
    with lock_cassette(file), pytest.raises(RecordError, match="another recorder"), use_cassette(file, "all"):
        pytest.fail("unreachable")
    with pytest.raises(UnreadableRecording, match="no such cassette"), use_cassette(file):
        pytest.fail("unreachable")


class TestOfVcrpy:
    @pytest.mark.parametrize(
        ("body", "raw"),
        [
            *((None, b""), (b"a", b"a"), ("é", "é".encode()), ([b"a", "b"], b"ab"), ({"a": 1}, b'{"a":1}')),
            *((5, b"5"), (io.BytesIO(b"abc"), b"abc")),
        ],
    )
    def test_bodies(self, body, raw):
        assert body_bytes(body) == raw

    def test_a_response_of_another_version(self):
        request = vcr.request.Request("GET", "https://x.test/", None, {})
        response = {"status": {"code": 204}, "headers": {}}
        interaction = interaction_from_vcr(request, {**response, "body": {"string": "text"}})
        assert (interaction.status, interaction.reason, interaction.answer) == (204, "", b"text")
        assert interaction_from_vcr(request, {**response, "body": {}}).chunks == ()


def test_ids_in_a_replay_are_those_that_the_client_got(http, live, world, file):
    world.script(message("one"), message("two"))
    with use_cassette(file, "all"):
        id = send(http, live.url).json()["id"]
        send(http, live.url, {**REQUEST, "previous_response_id": id})
    assert id not in file.read_text(encoding="utf-8")
    with use_cassette(file) as session:
        other = send(http, live.url).json()["id"]
        answer = send(http, live.url, {**REQUEST, "previous_response_id": other})
    assert session.problems == []
    assert json.loads(answer.content)["previous_response_id"] == other
