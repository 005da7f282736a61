"""The viewer of a running server: its page, its data, and acts on a World by its name."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from harness.faults import pause
from harness.items import message
from harness.server.control_plane import view
from harness.server.control_plane.access import ControlAccess
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.viewer.json_form import from_json
from harness.viewer.page_data import Run, ShownCase
from harness.viewer.pool import PoolReader
from tests.support.processes import wait_until
from tests.support.servers.json_client import send

HI = {"model": "gpt-4.1", "input": "hi"}


def shown_run(server: Server) -> Run:
    status, run = send(server.port, "GET", "/_harness/view/run")
    assert status == 200
    return from_json(run, Run)


def shown_case(server: Server, name: str, after: int = 0) -> ShownCase:
    status, case = send(server.port, "GET", f"/_harness/view/case?id={quote(name, safe='')}&after={after}")
    assert status == 200, case
    return from_json(case, ShownCase)


def test_the_page_needs_no_token_and_has_a_strict_policy() -> None:
    with serve_in_thread(MockApi(keys=()), access=ControlAccess("secret")) as server:
        status, page = send(server.port, "GET", "/_harness/view")
        assert (status, page.startswith("<!doctype html>")) == (200, True)
        assert send(server.port, "GET", "/_harness/view/run")[0] == 401
        assert send(server.port, "GET", "/_harness/view/case?id=a")[0] == 401
        assert send(server.port, "GET", "/_harness/view/run", **{"x-harness-token": "secret"})[0] == 200


def test_each_world_is_a_case_without_its_key(server: Server) -> None:
    send(server.port, "POST", "/_harness/world", {"name": "test of Zoë: 100 %"}, key="sk-secret-one")
    send(server.port, "POST", "/v1/responses", HI, key="sk-secret-one")
    send(server.port, "POST", "/v1/responses", {"model": "gpt-4.1", "input": 17}, key="sk-secret-two")
    run = shown_run(server)
    assert (run.source, run.counts, run.line) == ("serve", {"open": 2}, "2 Worlds, 2 exchanges")
    assert run.cases[0].id == "test of Zoë: 100 %"
    assert [cause.rule for cause in run.cases[1].causes] == ["invalid_type"]
    assert [group.cases for group in run.causes] == [[(run.cases[1].id, 1)]]
    assert "sk-secret" not in json.dumps(send(server.port, "GET", "/_harness/view/run")[1])
    for row in run.cases:
        case = shown_case(server, row.id)
        assert (case.row.id, len(case.exchanges), case.row.outcome) == (row.id, 1, "open")
        assert [finding.rule for finding in case.findings] == [cause.rule for cause in row.causes]


def test_a_case_is_read_on_from_a_number(server: Server) -> None:
    send(server.port, "POST", "/_harness/world", {"name": "talk"})
    for _ in range(3):
        send(server.port, "POST", "/v1/responses", HI)
    case = shown_case(server, "talk", after=2)
    assert [shown.number for shown in case.exchanges] == [3]
    assert PoolReader(case.pool).value(case.exchanges[0].request) == HI
    assert case.row.exchanges == 3
    assert shown_case(server, "talk", after=3).exchanges == []


def test_a_row_follows_what_happens(server: Server) -> None:
    send(server.port, "POST", "/_harness/world", {"name": "talk"})
    assert shown_run(server).cases[0].exchanges == 0
    send(server.port, "POST", "/v1/responses", HI)
    assert shown_run(server).cases[0].exchanges == 1
    send(server.port, "DELETE", "/_harness/world")
    assert shown_run(server).cases == []


def test_a_world_that_is_not_there_is_named(server: Server) -> None:
    send(server.port, "POST", "/_harness/world", {"name": "talk"})
    status, answer = send(server.port, "GET", "/_harness/view/case?id=other")
    assert status == 400
    assert answer["error"]["message"].startswith("no World named 'other': GET /_harness/worlds lists them, the newest")
    assert "talk" in answer["error"]["message"]


def test_an_act_names_its_world_by_a_header(server: Server) -> None:
    name = "test of Zoë: 100 %"
    send(server.port, "POST", "/_harness/world", {"name": name}, key="sk-b")
    named: dict[str, Any] = {"x-harness-world": quote(name)}
    assert send(server.port, "POST", "/_harness/script", {"script": ["From the page."]}, key="sk-a", **named)[0] == 200
    assert (
        send(server.port, "POST", "/v1/responses", HI, key="sk-b")[1]["output"][0]["content"][0]["text"]
        == "From the page."
    )
    unknown = send(server.port, "POST", "/_harness/script", {"script": ["x"]}, **{"x-harness-world": "none"})
    assert unknown[0] == 400


def test_turns_that_wait_are_no_failure_while_a_world_lives(server: Server) -> None:
    mock = server.api.open("sk-a", "talk")
    mock.script(pause([message("Later.")], until="shown"))
    mock.gate("shown")
    case = shown_case(server, "talk")
    assert case.row.causes == []
    assert [turn.text for turn in case.waiting] == ['script: message "Later." + pause']
    assert case.gates == ["shown"]


def test_a_long_world_is_judged_when_it_is_quiet(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "JUDGED_IN_PASSING", 1)
    changed: list[str] = []
    monkeypatch.setattr(server.api.observers, "on_changed", lambda world, what: changed.append(what))
    for input in ("hi", 17):
        send(server.port, "POST", "/v1/responses", {"model": "gpt-4.1", "input": input})
    busy = shown_run(server).cases[0]
    assert (busy.exchanges, busy.refusals, busy.causes) == (2, 1, [])
    assert wait_until(lambda: changed == ["judged"])
    assert wait_until(lambda: bool(shown_run(server).cases[0].causes))


def test_the_viewer_leaves_the_server_time_while_requests_come(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(view.asyncio, "sleep", sleep)
    monkeypatch.setattr(view, "WAIT_PER_SECOND", 1e6)
    shown_run(server)
    send(server.port, "POST", "/v1/responses", HI)
    shown_run(server)
    shown_run(server)
    assert [seconds for seconds in slept if seconds] == [view.LONGEST_WAIT], "nobody waits when nothing has come"


def test_a_world_without_an_owner_is_named_by_its_hash_and_the_first_words_of_its_client(server: Server) -> None:
    send(server.port, "POST", "/v1/responses", {"model": "gpt-4.1", "input": "Weather in Paris?"})
    [row] = shown_run(server).cases
    assert row.name == f"{row.id.removeprefix('key-')[:8]} Weather in Paris?"
    assert shown_case(server, row.id).row.name == row.name
