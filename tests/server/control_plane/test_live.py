"""What the holder of the control token sees of all Worlds: a list of them, and a stream of what happens."""

import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from harness.faults import Gate, pause
from harness.server.api_observers import AnsweredRequest, ApiObserver
from harness.server.control_plane import live
from harness.server.control_plane.access import ControlAccess
from harness.server.control_plane.live import EventRing
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from tests.support import in_process
from tests.support.processes import wait_until
from tests.support.servers.json_client import send

Event = dict[str, Any]
HI = {"model": "gpt-4.1", "input": "hi"}


class Stream:
    """A listener: the ids and the events that it gets, one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.answer = answer
        self.ids: list[int] = []

    def read(self) -> Event:
        """Read the next event; comments and the first field are passed over."""
        fields: dict[str, str] = {}
        while "data" not in fields:
            line = self.answer.readline().decode()
            assert line.endswith("\n"), "the stream has ended"
            name, _, value = line.rstrip("\n").partition(": ")
            fields[name] = value
        assert self.answer.readline() == b"\n"
        self.ids.append(int(fields["id"]))
        event: Event = json.loads(fields["data"])
        return event

    def read_until(self, kind: str) -> list[Event]:
        """Read up to the next event of a kind."""
        events = [self.read()]
        while events[-1]["kind"] != kind:
            events.append(self.read())
        return events


@contextmanager
def listening(server: Server, query: str = "", **headers: str) -> Iterator[Stream]:
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=5)) as wire:
        wire.request("GET", f"/_harness/events{query}", headers=headers)
        answer = wire.getresponse()
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.readline() + answer.readline() == b"retry: 1000\n\n"
        yield Stream(answer)


def ask(server: Server, key: str = "sk-a", **members: Any) -> None:
    send(server.port, "POST", "/v1/responses", {**HI, **members}, key)


class TestTheWorlds:
    def test_the_worlds_are_all_of_the_server(self, server: Server) -> None:
        before = time.time()
        server.api.open("sk-a", "weather").script("one", "two")
        ask(server)
        ask(server, temperature=9)
        ask(server, "sk-b")
        _, told = send(server.port, "GET", "/_harness/worlds", key="")
        weather, other = told["worlds"]
        assert before <= weather.pop("created") <= time.time()
        assert weather == {
            "name": "weather",
            "exchanges": 2,
            "newest": 2,
            "refusals": 1,
            "unexpected": 1,
            "turns": 1,
            "open_streams": 0,
        }
        assert other["name"].startswith("key-")
        assert "sk-b" not in json.dumps(told)

    def test_the_worlds_count_the_streams_that_are_going_out(self, server: Server) -> None:
        gate = Gate()
        mock = server.api.open("sk-a", "slow")
        mock.script(pause("Once.", after=2, until=gate), "ok")
        with closing(http.client.HTTPConnection(server.host, server.port, timeout=5)) as wire:
            sent = {"authorization": "Bearer sk-a", "content-type": "application/json"}
            wire.request("POST", "/v1/responses", json.dumps({**HI, "stream": True}), sent)
            answer = wire.getresponse()
            answer.read1()
            ask(server)
            assert send(server.port, "GET", "/_harness/worlds")[1]["worlds"][0]["open_streams"] == 1
            gate.open()
            answer.read()
        assert send(server.port, "GET", "/_harness/worlds")[1]["worlds"][0]["open_streams"] == 0

    def test_the_worlds_say_after_which_event_they_were_so(self, server: Server) -> None:
        position = send(server.port, "GET", "/_harness/worlds")[1]["event"]
        ask(server)
        with listening(server, f"?after={position}") as stream:
            assert [event["kind"] for event in stream.read_until("edge")] == ["world", "exchange", "edge"]


class TestTheEvents:
    def test_the_events_are_those_of_all_worlds_from_now_on(self, server: Server) -> None:
        server.api.open("sk-a", "weather")
        ask(server)
        with listening(server) as stream:
            ask(server)
            ask(server, "sk-b", stream=True, model="gpt-5")
            first, edge, opened, other, streamed = (stream.read() for _ in range(5))
        shown = {"operation": "POST /responses", "method": "POST", "path": "/responses", "rule": None, "status": 200}
        asked = {"world": "weather", "kind": "exchange", "number": 2, "model": "gpt-4.1", "stream": False}
        assert first == {**asked, **shown}
        assert {name: edge[name] for name in ("world", "kind", "number", "whole", "left", "events")} == {
            "world": "weather",
            "kind": "edge",
            "number": 2,
            "whole": True,
            "left": None,
            "events": None,
        }
        assert edge["arrived"] <= edge["first_byte"] <= edge["last_byte"]
        assert opened == {"world": other["world"], "kind": "world"}
        assert (other["number"], other["model"], other["stream"]) == (1, "gpt-5", True)
        assert streamed["events"] > 4
        assert stream.ids == list(range(stream.ids[0], stream.ids[0] + 5))

    def test_the_events_tell_of_what_was_refused_and_of_a_client_that_left(self, server: Server) -> None:
        server.api.open("sk-a", "weather").script(pause("Once.", until=Gate()))
        with listening(server) as stream:
            ask(server, temperature=9)
            refused = stream.read()
            assert refused["status"] == 400
            assert refused["rule"]
            stream.read()
            with closing(http.client.HTTPConnection(server.host, server.port, timeout=0.1)) as wire:
                wire.request("POST", "/v1/responses", json.dumps(HI), {"authorization": "Bearer sk-a"})
                with pytest.raises(TimeoutError):
                    wire.getresponse()
            left = stream.read_until("edge")[-1]
        assert (left["number"], left["whole"]) == (2, False)
        assert 0 < left["left"] < 5

    def test_the_events_tell_what_control_requests_change(self, server: Server) -> None:
        with listening(server) as stream:
            send(server.port, "POST", "/_harness/world", {"name": "first"})
            send(server.port, "POST", "/_harness/script", {"turns": ["hi"]})
            send(server.port, "POST", "/_harness/skip", {"seconds": 5})
            send(server.port, "POST", "/_harness/skip", {"seconds": -5})
            send(server.port, "DELETE", "/_harness/world")
            told = [(event["world"], event["kind"]) for event in stream.read_until("skip")]
            told += [(event["world"], event["kind"]) for event in stream.read_until("closed")]
        named = [entry for entry in told if entry[0] == "first"]
        assert named == [("first", "world"), ("first", "script"), ("first", "skip"), ("first", "closed")]

    def test_the_events_show_whatever_a_client_sent(self, server: Server) -> None:
        with listening(server) as stream:
            for model in (None, 7, "x" * 10_000, "\ud800", "\n\nid: 7\n"):
                send(server.port, "POST", "/v1/responses", {"model": model, "input": "hi"})
            shown = [event["model"] for event in (stream.read() for _ in range(11)) if event["kind"] == "exchange"]
        assert shown == [None, None, f"{'x' * 199}…", None, "\n\nid: 7\n"]

    def test_the_events_go_on_where_a_listener_was(self, server: Server) -> None:
        server.api.open("sk-a", "weather")
        with listening(server) as stream:
            ask(server)
            stream.read_until("edge")
        ask(server)
        with listening(server, "?after=0", **{"Last-Event-ID": str(stream.ids[-1])}) as again:
            assert again.read_until("edge")[-1]["number"] == 2
        assert again.ids[0] == stream.ids[-1] + 1

    def test_the_events_begin_with_a_gap_when_some_are_not_kept(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(live, "MOST_EVENTS", 4)
        server.api.open("sk-a", "weather")
        position = send(server.port, "GET", "/_harness/worlds")[1]["event"]
        for _ in range(5):
            ask(server)
        with listening(server, f"?after={position}") as stream:
            gap, *rest = (stream.read() for _ in range(5))
        assert gap == {"kind": "gap", "after": position, "first": position + 7}
        assert [event["number"] for event in rest] == [4, 4, 5, 5]
        assert stream.ids == list(range(position + 6, position + 11))

    @pytest.mark.parametrize("after", ["?after=4711", "?after=-1"])
    def test_the_events_begin_with_a_gap_after_a_number_of_another_server(self, server: Server, after: str) -> None:
        with listening(server, after) as stream:
            assert stream.read() == {"kind": "gap", "after": int(after[7:]), "first": 1}
            ask(server)
            assert [event["kind"] for event in stream.read_until("exchange")] == ["world", "exchange"]

    def test_the_events_are_refused_after_what_is_no_number(self, server: Server) -> None:
        assert send(server.port, "GET", "/_harness/events?after=x")[0] == 400
        status, told = send(server.port, "GET", "/_harness/events", **{"Last-Event-ID": "x"})
        assert status == 400
        assert told["error"]["message"].startswith('last-event-id is "x": Input should be a valid integer')

    @pytest.mark.parametrize("number", [-(2**63) - 1, -(2**53), 2**53, 10**4_000])
    def test_the_events_are_refused_after_a_number_that_no_event_can_have(self, server: Server, number: int) -> None:
        for query, headers in ((f"?after={number}", {}), ("", {"Last-Event-ID": str(number)})):
            status, told = send(server.port, "GET", f"/_harness/events{query}", **headers)
            assert status == 400
            assert re.match('(after|last-event-id) is "-?[0-9…]+": Input should be ', told["error"]["message"])

    def test_the_events_are_followed_by_comments_while_nothing_happens(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(live, "KEEP_ALIVE_SECONDS", 0.05)
        with listening(server) as stream:
            assert stream.answer.readline() == b": nothing new\n"

    def test_the_events_end_when_the_server_stops(self, server: Server) -> None:
        with listening(server) as stream:
            begun = time.monotonic()
            server._uvicorn.stop(force=False)
            assert stream.answer.read() == b""
        assert time.monotonic() - begun < 2

    def test_the_events_are_not_gathered_when_nobody_looks(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert server.api.observers.all == []
        with listening(server) as stream:
            assert len(server.api.observers.all) == 1
            ask(server)
            stream.read_until("edge")
        monkeypatch.setattr(live, "UNWATCHED_SECONDS", 0.0)
        (ring,) = server.api.observers.all
        assert wait_until(lambda: not ring._listeners)  # type: ignore[attr-defined]
        ask(server)
        assert server.api.observers.all == []
        with listening(server, f"?after={stream.ids[-1]}") as again:
            assert again.read()["kind"] == "gap"


class TestTheToken:
    @pytest.mark.parametrize("path", ["/_harness/worlds", "/_harness/events"])
    def test_the_token_is_needed_as_for_the_rest(self, path: str) -> None:
        with serve_in_thread(MockApi(), access=ControlAccess("secret")) as server:
            assert send(server.port, "GET", path)[0] == 401
            with closing(http.client.HTTPConnection(server.host, server.port, timeout=5)) as wire:
                wire.request("GET", path, headers={"x-harness-token": "secret"})
                assert wire.getresponse().status == 200


HEADERS = {"authorization": "Bearer sk-ring", "content-type": "application/json"}


class Collector(ApiObserver):
    """Keeps what it is told."""

    least_status = 0

    def __init__(self) -> None:
        self.answered: list[AnsweredRequest] = []

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Keep an answer."""
        self.answered.append(answered)


def test_an_event_names_the_exchange_of_its_answer_though_another_thread_has_answered_since() -> None:
    api, collector = MockApi(), Collector()
    api.open("sk-ring").script("Paris", "Rome")
    ring = EventRing(api)
    ring.start()
    api.observers.remove(ring)
    api.observers.add(collector)
    for model in ("gpt-4.1", "gpt-4o"):
        in_process.ask(api, "Capital?", "sk-ring", model=model)

    first, second = collector.answered
    ring.on_answer(first)
    ring.on_answer(second)

    told = [event for event in ring.read(0, 10)[1] if event.kind == "exchange"]
    assert [(event.number, event.row["model"]) for event in told] == [(1, "gpt-4.1"), (2, "gpt-4o")]


def test_an_exchange_that_was_dropped_meanwhile_is_no_event() -> None:
    api, collector = MockApi(), Collector()
    api.open("sk-ring").script("Paris")
    ring = EventRing(api)
    ring.start()
    api.observers.add(collector)
    in_process.ask(api, "Capital?", "sk-ring", model="gpt-4.1")
    (answered,) = collector.answered
    last = ring.last
    assert answered.world is not None
    answered.world.exchanges.clear()
    ring.on_answer(answered)
    assert ring.last == last
