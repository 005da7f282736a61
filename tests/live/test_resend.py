"""`responses-harness drift` over WebSockets: each is opened anew, and what is said now is held against what was said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from harness.cassettes.format.interaction import CLIENT, SERVER, CassetteHeader, Frame, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.cli import app
from harness.core.exchange import Answer
from harness.items import message
from tests.support.recordings import HI, over_http, recorded
from tests.support.servers.live_api import KEY, Event, EventChange, live_websocket
from tests.support.websockets import Socket, create

WHOLE = "response.completed"


def frames(side: str, *events: Event) -> list[Frame]:
    return [(0.0, side, json.dumps(event)) for event in events]


def talked(*events: Event, change: EventChange = lambda event: event) -> list[Frame]:
    """Return what goes to and fro when these events are sent to a mock; `{0}` in an id is that of the response 0."""
    socket, made, ids = Socket(), list[Frame](), list[str]()
    socket.mock.script(*[message("ok")] * len(events))
    for event in events:
        sent = {name: result.format(*ids) if name.endswith("_id") else result for name, result in event.items()}
        received = socket.send(sent)
        ids += [answer["response"]["id"] for answer in received if answer["type"] == "response.created"]
        made += [*frames(CLIENT, sent), *frames(SERVER, *filter(None, map(change, received)))]
    return made


def connection(frames: list[Frame], **more: Any) -> Interaction:
    return Interaction("GET", "https://api.openai.com/v1/responses", status=101, frames=tuple(frames), **more)


def cassette(folder: Path, *interactions: Interaction, dialect: str = "openai") -> Path:
    file = folder / "it.yaml"
    file.write_text(
        dump_cassette(CassetteHeader(dialect=dialect, recorded="2026-09-21"), interactions), encoding="utf-8"
    )
    return file


def drift(url: str, file: Path, *more: str) -> Result:
    return CliRunner(env={"OPENAI_API_KEY": KEY}).invoke(app, ["drift", "--upstream", url, str(file), "--yes", *more])


def drifted(folder: Path, *interactions: Interaction, change: EventChange | None = None, **more: Any) -> Result:
    with live_websocket(change, **more) as (url, _):
        return drift(url, cassette(folder, *interactions))


def found(result: Result) -> list[list[str]]:
    """Where each exchange differs, in order."""
    assert result.stdout, result.output
    return [[finding["at"] for finding in exchange["found"]] for exchange in json.loads(result.stdout)["exchanges"]]


def differences(folder: Path, *interactions: Interaction, change: EventChange | None = None) -> list[list[str]]:
    with live_websocket(change) as (url, _):
        return found(drift(url, cassette(folder, *interactions), "--json"))


def only(kind: str, change: Callable[[Event], Event | None], after: int = 0) -> EventChange:
    """Return a change of the events of one kind, but for the first ones."""
    left = [None] * after

    def changed(event: Event) -> Event | None:
        if event["type"] != kind:
            return event
        return left.pop() or event if left else change(event)

    return changed


NO = {"type": "error", "status": 400, "error": {"message": "No.", "type": "x", "param": None, "code": None}}
CHAIN = (create(), create("and?", previous_response_id="{0}"), create("so?", previous_response_id="{1}"))


# Requests sent again, without any difference


def test_a_connection_is_had_again_with_the_ids_of_today(tmp_path: Path) -> None:
    then = talked(*CHAIN)
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, connection(then)))
    assert result.exit_code == 0, result.output
    assert result.stdout == "3 exchanges sent again: 3 as recorded, 0 not\n"
    assert "3 calls, at most about" in result.stderr
    assert (api.opened, api.keys) == (1, [f"Bearer {KEY}"])
    ids = [request["previous_response_id"] for request in api.requests[1:]]
    assert len({*ids, *(json.loads(text).get("previous_response_id") for _, _, text in then)} - {None}) == 4


def test_an_event_is_sent_with_all_that_http_does_not_know(tmp_path: Path) -> None:
    event = create(stream_id="main", background=False, metadata={"a": "b"})
    beta = "responses_websockets=2026-02-06"
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, connection(talked(event), headers={"openai-beta": beta})))
    assert (result.exit_code, api.requests, api.betas) == (0, [event], [beta])


def test_each_connection_is_opened_anew_at_its_own_path(tmp_path: Path) -> None:
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, connection(talked(*CHAIN[:2])), connection(talked(create("ho")))))
    assert "3 exchanges sent again: 3 as recorded" in result.stdout
    assert (api.opened, [request["input"] for request in api.requests]) == (2, ["hi", "and?", "ho"])


def test_what_http_began_goes_on_over_a_websocket(tmp_path: Path) -> None:
    answer = recorded(HI)[0]["response"]
    then = answer["id"]

    def after(event: Event) -> Event:
        whole = event.get("response")
        return {**event, "response": {**whole, "previous_response_id": then}} if whole else event

    went_on = [*frames(CLIENT, create(previous_response_id=then)), *talked(create(), change=after)[1:]]
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, over_http(HI, answer), connection(went_on)))
    assert result.stdout == "2 exchanges sent again: 2 as recorded, 0 not\n"
    assert api.requests[0]["previous_response_id"] not in (then, None)


def test_words_ids_and_times_may_be_others_and_some_events_come_when_they_like(tmp_path: Path) -> None:
    later = only(WHOLE, lambda event: {**event, "response": {**event["response"], "completed_at": 9, "metadata": {}}})
    aside = frames(SERVER, {"type": "keepalive", "sequence_number": 1})
    then = talked(*CHAIN)
    assert differences(tmp_path, connection([*then[:2], *aside, *then[2:]]), change=later) == [[], [], []]


def test_a_refusal_is_had_again(tmp_path: Path) -> None:
    then = talked(create(seed=1), create(3), create(previous_response_id="resp_nope"))
    assert differences(tmp_path, connection(then)) == [[], [], []]


# Exactly the difference is reported


NEW = f"events[{WHOLE}].response.mood"


def moody(after: int = 0) -> EventChange:
    """Return a new member of each response, but for the first ones."""
    return only(WHOLE, lambda event: {**event, "response": {**event["response"], "mood": "good"}}, after)


def test_a_member_that_is_new_is_reported(tmp_path: Path) -> None:
    assert differences(tmp_path, connection(talked(*CHAIN)), change=moody(after=1)) == [[], [NEW], [NEW]]


def test_an_event_that_is_gone_is_reported(tmp_path: Path) -> None:
    gone = only("response.in_progress", lambda event: None)
    result = drifted(tmp_path, connection(talked(create())), change=gone)
    assert result.exit_code == 1
    assert result.stdout == (
        "1 exchange sent again: 0 as recorded, 1 not\n"
        f"{tmp_path}/it.yaml#1.1  events[response.in_progress]\n"
        "  recorded  an object\n  live      absent\n  the mock answers as recorded: it is outdated\n"
    )


def test_an_event_that_the_recording_lacks_is_reported(tmp_path: Path) -> None:
    then = talked(create(), change=only("response.in_progress", lambda event: None))
    result = drifted(tmp_path, connection(then))
    assert "events[response.in_progress]\n  recorded  absent\n  live      an object" in result.stdout
    assert "the mock answers like the API now: record again" in result.stdout


def test_other_words_of_a_refusal_are_reported(tmp_path: Path) -> None:
    other = only("error", lambda event: {**event, "error": {**event["error"], "message": "What is 'seed'?"}})
    result = drifted(tmp_path, connection(talked(create(seed=1), create())), change=other)
    assert result.stdout == (
        "2 exchanges sent again: 1 as recorded, 1 not\n"
        f"{tmp_path}/it.yaml#1.1  error.message\n"
        "  recorded  Unknown parameter: 'seed'.\n  live      What is 'seed'?\n"
        "  the mock answers as recorded: it is outdated\n"
    )


def test_what_is_refused_now_is_reported_and_what_goes_on_with_it_is_not_sent(tmp_path: Path) -> None:
    result = drifted(tmp_path, connection(talked(*CHAIN)), change=lambda event: NO)
    assert "1 exchange sent again: 0 as recorded, 1 not\n2 not sent: it continues output" in result.stdout
    assert "status\n  recorded  200\n  live      400 No." in result.stdout


# Warm-ups


def test_a_warm_up_is_sent_again_and_what_goes_on_with_it_is_compared(tmp_path: Path) -> None:
    then = talked(create(generate=False), create(previous_response_id="{0}"))
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, connection(then)))
    assert "2 exchanges sent again: 2 as recorded, 0 not" in result.stdout
    assert api.requests[0] == create(generate=False)
    assert differences(tmp_path, connection(then), change=moody(after=1)) == [[], [NEW]]


def test_a_warm_up_that_is_refused_now_is_reported(tmp_path: Path) -> None:
    then = connection(talked(create(generate=False)))
    assert differences(tmp_path, then, change=lambda event: NO) == [["status"]]


# What is left out, and counted


def overlapping() -> list[Frame]:
    """Return two requests, the second of which was sent before the first was answered."""
    then = talked(create(stream_id="a"), create(stream_id="b"))
    second = next(place for place, (_, side, _) in enumerate(then) if place and side == CLIENT)
    return [then[0], then[second], *then[1:second], *then[second + 1 :]]


STEER = {"type": "response.steer", "previous_response_id": "{0}", "input": "Be brief."}
TOO_OLD = {"type": "error", "status": 400, "error": {"code": "websocket_connection_limit_reached", "message": "Old."}}


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        (lambda: connection(overlapping()), "2 left out: it was sent over a WebSocket on which requests overlap"),
        (
            lambda: connection(talked(create(model="gpt-6-astra"), STEER)),
            "2 left out: it was sent over a WebSocket on which open responses are steered or get outputs",
        ),
        (
            lambda: connection(talked(create())[:-2], cut=True),
            "1 left out: its answer over a WebSocket is cut off in the recording",
        ),
        (
            lambda: connection(talked({"type": "session.update"})),
            "1 left out: it was sent over a WebSocket and started no response",
        ),
        (
            lambda: connection([*frames(CLIENT, create()), *frames(SERVER, TOO_OLD)]),
            "1 left out: the answer was about the account or the time: websocket_connection_limit_reached",
        ),
    ],
    ids=["overlapping", "steered", "cut off", "without a response", "about the hour"],
)
def test_what_cannot_be_sent_again_is_left_out_and_counted(tmp_path: Path, left_out: Any, told: str) -> None:
    result = drifted(tmp_path, left_out(), connection(talked(create())))
    assert told in result.stderr
    assert "1 exchange sent again: 1 as recorded, 0 not" in result.stdout


def test_what_another_provider_answered_is_left_out(tmp_path: Path) -> None:
    with live_websocket() as (url, api):
        result = drift(url, cassette(tmp_path, connection(talked(create())), dialect="azure"))
    assert (result.exit_code, api.opened) == (2, 0)
    assert "no recorded request can be sent again. 1 left out: it is azure's" in result.stderr


# What is not compared


def test_an_api_that_opens_no_websocket_is_not_compared(tmp_path: Path) -> None:
    no = Answer(404, {"error": {"message": "Not here."}}, {"content-type": "application/json"})
    result = drifted(tmp_path, connection(talked(*CHAIN[:1], create())), connection(talked(create())), refused=[no])
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "3 exchanges sent again: 1 as recorded, 0 not\n2 not compared: no WebSocket could be opened: 404 Not here.\n"
    )


def test_a_connection_that_breaks_off_is_not_compared(tmp_path: Path) -> None:
    result = drifted(tmp_path, connection(talked(create(), create())), closing=True)
    assert result.stdout == (
        "2 exchanges sent again: 0 as recorded, 0 not\n"
        "2 not compared: the connection is closed (ConnectionClosedError)\n"
    )


def test_what_goes_on_with_an_answer_that_did_not_come_is_not_sent(tmp_path: Path) -> None:
    result = drifted(tmp_path, connection(talked(*CHAIN)), closing=True)
    assert "1 not compared: the connection is closed" in result.stdout
    assert "2 not sent: it continues output that the model did not give this time" in result.stdout


@pytest.mark.parametrize(("status", "what"), [(403, "403"), (400, "websocket_connection_limit_reached")])
def test_an_answer_about_the_account_or_the_hour_is_not_compared(tmp_path: Path, status: int, what: str) -> None:
    result = drifted(tmp_path, connection(talked(create())), change=lambda event: {**TOO_OLD, "status": status})
    assert f"1 not compared: it was answered {what}, which is about the account or the time" in result.stdout


def test_a_response_that_the_server_fails_is_not_compared(tmp_path: Path) -> None:
    error = {"code": "server_error", "message": "Oops."}
    failed = only(
        WHOLE,
        lambda event: {
            **event,
            "type": "response.failed",
            "response": {**event["response"], "status": "failed", "error": error},
        },
    )
    then = connection(talked(create()))
    assert "1 not compared: it was answered server_error, which" in drifted(tmp_path, then, change=failed).stdout
    once = connection(talked(create(), change=failed))
    result = drifted(tmp_path, once, then)
    assert "1 left out: the answer was about the account or the time: server_error" in result.stderr
    assert "1 exchange sent again: 1 as recorded, 0 not" in result.stdout


def test_a_stream_that_an_error_ends_is_not_compared(tmp_path: Path) -> None:
    error = {"type": "error", "code": "server_error", "message": "Oops.", "param": None, "sequence_number": 7}
    result = drifted(tmp_path, connection(talked(create())), change=only(WHOLE, lambda event: error))
    assert "1 not compared: it was answered server_error, which" in result.stdout
