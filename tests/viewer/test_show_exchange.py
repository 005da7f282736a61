"""When an exchange came, and the events of a stream: when each goes out, in which pieces, what of one that breaks off."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness.answers.encode import encode_event
from harness.api.responses import SOCKET
from harness.core.delivery import Delivery, Gate, Pause, SendTimes
from harness.faults import chunks, cut, framing, pause
from harness.items import message
from harness.report.report import RunFacts
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.verify.report_cases import build_journal
from harness.viewer.build_case import CaseHead, build_case
from harness.viewer.build_run import assemble_run
from harness.viewer.page_data import StreamEvent
from harness.viewer.pool import PoolReader
from harness.viewer.show_exchange import plan_times
from harness.viewer.text import render_case
from harness.viewer.trace import read_trace, write_trace
from harness.world.route import Turn
from harness.world.world import World
from tests.support.processes import wait_until
from tests.support.recordings import HI, over_http, sse
from tests.support.shown import Asked, read


def test_an_exchange_says_when_it_came_and_which_turn_answered(asked: Asked) -> None:
    asked.mock.when(instructions="planner").script("Never.")
    asked.mock.script("One.", "Two.")
    asked.ask("hi", instructions="You are ops.")
    asked.ask(17)
    asked.send("POST", "/responses", b'{"model": ')
    case = asked.show()
    first, second, third = case.exchanges
    assert read(case, third.number, "request") == '{"model": '
    assert first.edge.arrived == 0
    assert second.edge.arrived is not None
    assert first.edge.arrived <= (first.edge.last_byte or 0) <= second.edge.arrived
    assert case.row.began == 1000.0
    assert first.answered_by is not None
    assert (first.answered_by.turn, first.answered_by.route) == (1, "script")
    assert first.answered_by.file == __file__
    lines = Path(__file__).read_text().splitlines()
    assert 'asked.mock.script("One.", "Two.")' in lines[first.answered_by.line - 1]
    assert [(route.route, route.failed) for route in first.tried] == [
        ("when(instructions='planner')", "instructions does not contain 'planner': 'You are ops.'"),
        ("script", ""),
    ]
    assert (second.answered_by, second.tried) == (None, [])
    [never, two] = case.waiting
    assert (never.file, two.route) == (__file__, "script")
    assert 'script("Never.")' in lines[never.line - 1]


def scripted_by_return(asked: Asked) -> None:
    return asked.mock.script(
        "One.",
    )


def test_the_turn_is_shown_with_its_whole_statement(asked: Asked) -> None:
    scripted_by_return(asked)
    asked.ask("hi")
    answered_by = asked.show().exchanges[0].answered_by
    assert answered_by is not None
    assert answered_by.source == 'return asked.mock.script(\n    "One.",\n)'


def streamed(turn: Turn) -> list[StreamEvent]:
    """Return the events of a turn, with their content."""
    asked = Asked()
    asked.mock.script(turn)
    asked.ask("hi", stream=True)
    case = asked.show("open")
    [shown] = case.exchanges
    return [replace(event, event=PoolReader(case.pool).value(event.event)) for event in shown.events or ()]


def test_an_event_says_in_which_pieces_it_went_out() -> None:
    events = streamed(chunks(message("Hello there."), size=100))
    assert all(sum(event.chunks) == len(encode_event(event.event)) for event in events)
    assert all(size == 100 for event in events for size in event.chunks[:-1])
    assert len(events[0].chunks) > 3


def test_the_form_of_a_frame_counts() -> None:
    plain, commented = streamed(chunks(message("Hi."), size=0)), streamed(framing(message("Hi."), comment="ping"))
    assert [sum(event.chunks) for event in commented] == [sum(event.chunks) + len(": ping\n\n") for event in plain]


def test_a_stream_without_a_fault_shows_no_delivery() -> None:
    assert {(event.at, tuple(event.chunks)) for event in streamed([message("Hi.")])} == {(None, ())}


def test_over_a_websocket_each_event_is_a_message_of_its_own() -> None:
    asked = Asked()
    asked.mock.script(chunks(message("Hello there."), size=100))
    asked.ask("hi", stream=True)
    [exchange] = asked.mock.world.exchanges
    asked.mock.world.exchanges[0] = exchange._replace(request=exchange.request._replace(operation=SOCKET))
    [shown] = asked.show("open").exchanges
    assert {tuple(event.chunks) for event in shown.events or ()} == {()}


def test_an_event_that_is_broken_off_is_shown_as_far_as_it_went_out() -> None:
    *whole, broken = streamed(cut(message("Hello there."), after=2.5))
    assert (len(whole), broken.delivered) == (2, False)
    assert list(broken.chunks) == [len(encode_event(broken.event)) // 2]


def test_an_event_says_when_it_was_to_go_out() -> None:
    events = streamed(pause(message("Hi."), seconds=0.25, after=2))
    assert [event.at for event in events] == [0, 0, *[250] * (len(events) - 2)]


@pytest.fixture
def served() -> Iterator[World]:
    """The World of a stream that a server has sent, with a pause of 50 ms before its third event."""
    with serve_in_thread(MockApi()) as server, closing(HTTPConnection(server.host, server.port, timeout=5)) as wire:
        mock = server.api.open("sk-paced")
        mock.script(pause("Hi.", seconds=0.05, after=2))
        body = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True})
        wire.request("POST", "/v1/responses", body, {"authorization": "Bearer sk-paced"})
        wire.getresponse().read()
        assert wait_until(lambda: mock.world.edge[1].ended)
        yield mock.world


def test_events_after_those_that_went_out_were_not_delivered(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.mock.script("Hi.")
    asked.ask("hi", stream=True)
    seen = SendTimes(1000.25, 1000.5, 1001.0, 2, whole=False, ended=True)
    monkeypatch.setattr(asked.mock.world, "edge", {1: seen})
    [shown] = asked.show().exchanges
    assert [event.delivered for event in (shown.events or ())[:4]] == [True, True, False, False]
    assert (shown.edge.arrived, shown.edge.first_byte, shown.edge.last_byte) == (0, 250, 750)


def test_what_a_server_sent_has_measured_times(served: World, tmp_path: Path) -> None:
    case = build_case(CaseHead("paced"), served)
    [shown] = case.exchanges
    times = [event.at for event in shown.events or ()]
    first, second, third, *_ = measured = [time for time in times if time is not None]
    assert len(measured) == len(times)
    assert 0 <= first <= second < third - 40
    assert (first, second, third) != (0, 0, 50)  # as planned
    assert shown.edge.measured
    [traced] = read_trace(write_trace(tmp_path, RunFacts("test", "pytest", 0, 0), case)).case.exchanges
    assert [event.at for event in traced.events or ()] == times
    assert traced.edge.measured


def test_the_text_of_a_case_says_where_a_stream_waited(served: World) -> None:
    case = build_case(CaseHead("paced"), served)
    run = assemble_run([case.row], RunFacts("test", "pytest", 0, 0))
    waited = r"\d+ events in \d+ ms, the longest wait \d+ ms before event 3"
    assert re.search(waited, render_case(run, case, 2000))


@pytest.mark.parametrize(
    ("delivery", "times"),
    [
        (Delivery(), [None] * 4),
        (Delivery(times=(0, 0.5, 0.5, 2)), [0, 500, 500, 2000]),
        (Delivery(times=(0, 0.5), pauses=[Pause(1, after=1)]), [0, 1500, 1500, 1500]),
        (Delivery(pauses=[Pause(0.1)]), [100, 200, 300, 400]),
        (Delivery(pauses=[Pause(0.1, after=1), Pause(after=2, until=Gate())]), [0, 100, None, None]),
    ],
    ids=["nothing", "times", "times-and-a-pause", "a-pause-before-each", "a-gate"],
)
def test_times_are_planned_as_they_are_kept(delivery: Delivery, times: list[float | None]) -> None:
    assert plan_times(delivery, 4) == times


def test_a_recording_says_when_its_events_arrived() -> None:
    said = {"id": "resp_1", "object": "response", "output": [], "status": "completed"}
    first, second, third = (
        sse({"type": f"response.{kind}", "response": said}) for kind in ("created", "in_progress", "completed")
    )
    arrivals = ((0.5, first + second[:9]), (0.75, second[9:]), (1.5, third + b"data: [DONE]\n\n"))
    kinds = {"content-type": "text/event-stream"}
    world = build_journal([replace(over_http(HI), answer_headers=kinds, chunks=arrivals)])
    [shown] = build_case(CaseHead("a recording"), world).exchanges
    assert [event.at for event in shown.events or ()] == [0, 250, 1000]
