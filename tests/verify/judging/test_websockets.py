"""A WebSocket of a cassette as exchanges: what is one, what was said to it, and how `verify` judges it."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.api.http.bodies import decode_answer
from harness.api.http.dialects import parse_upstream
from harness.cassettes.format.interaction import CLIENT, SERVER, Frame, Interaction
from harness.contract.rule import Case
from harness.core.exchange import Answer
from harness.items import function_call, message
from harness.verify.examples import build_request
from harness.verify.judge_files import Tally
from harness.verify.judging.unverifiable import ABOUT_CONNECTION
from harness.verify.judging.verdict import FINDINGS
from harness.verify.judging.websockets import (
    SocketExchange,
    SocketLog,
    split_by_client_event,
    to_http_interactions,
    to_recorded,
)
from harness.verify.read_files import read_numbered, read_recording
from tests.support.recordings import HI, judged, over_http
from tests.support.rule_examples import CASES
from tests.support.tools import functions
from tests.support.websockets import Socket, cassette, connection, create, frames_of, frames_sent, scripted

API = parse_upstream("https://api.openai.com/v1")


def tally_of(folder: Path, *interactions: Interaction) -> Tally:
    return judged(folder, cassette(folder, *interactions))[0]


def events_of(exchange: Interaction) -> list[Any]:
    return decode_answer(exchange.answer, exchange.answer_headers).events or []


# What an exchange is


def test_each_response_create_is_an_exchange_as_http_would_have_it() -> None:
    socket = scripted(message("one"), message("two"))
    interaction = connection(*frames_sent(socket, create("a"), create("b", background=False, stream_id=None)))
    first, second = to_recorded(interaction, "it.yaml#1", API)
    for number, one in enumerate((first, second), 1):
        assert (one.id, one.file) == (f"it.yaml#1.{number}", "it.yaml")
        assert (one.method, one.path, one.status) == ("POST", "/v1/responses", 200)
    assert first.request == {"model": "gpt-4.1", "input": "a", "stream": True}
    assert second.events is not None
    assert [second.events[0]["type"], second.events[-1]["type"]] == ["response.created", "response.completed"]
    assert first.flags == {"socket"}


def test_lanes_that_mix_are_distinguished_and_their_names_are_no_part_of_an_event() -> None:
    frames = frames_of(CLIENT, create("a", stream_id="x"), create("b", stream_id="y"))
    for kind in ("response.created", "response.completed"):
        frames += frames_of(SERVER, *({"type": kind, "stream_id": lane, "response": {"id": lane}} for lane in "xy"))
    parts = list(to_http_interactions(connection(*frames)))
    assert [orjson.loads(part.body)["input"] for part in parts] == ["a", "b"]
    assert [[event["response"]["id"] for event in events_of(part)] for part in parts] == [["x", "x"], ["y", "y"]]
    assert not [event for part in parts for event in events_of(part) if "stream_id" in event]


def test_a_refused_one_has_the_status_and_the_error_of_its_event() -> None:
    (one,) = to_recorded(connection(*frames_sent(scripted(), create(3))), "it.yaml#1", API)
    assert (one.status, one.answer["error"]["code"], one.events) == (400, "invalid_type", None)


def test_a_connection_that_ends_before_the_answer_leaves_a_cut_exchange() -> None:
    frames = frames_sent(scripted(message("one")), create("a"))
    complete, none = connection(*frames[:4], cut=True), connection(*frames[:1], cut=True)
    (first,), (second,) = (to_recorded(interaction, "a#1", API) for interaction in (complete, none))
    assert [("cut" in recorded.flags, recorded.status) for recorded in (first, second)] == [(True, 200), (True, 0)]


def test_what_nobody_requested_is_reported_without_a_request() -> None:
    socket = scripted(message("one"))
    (one,) = to_recorded(connection(*frames_sent(socket, create(generate=False))), "it.yaml#1", API)
    assert one.flags == {"socket", "no_request"}


def test_events_about_steering_are_part_of_no_response() -> None:
    socket = scripted(message("one"), message("two"))
    first = frames_sent(socket, create("a", model="gpt-6-astra"))
    id = orjson.loads(first[-1][2])["response"]["id"]
    steered = frames_sent(socket, {"type": "response.steer", "previous_response_id": id, "input": "Be brief."})
    parts = list(to_http_interactions(connection(*first, *steered)))
    assert [not part.body for part in parts] == [False, True]
    assert not [event for part in parts for event in events_of(part) if "steer" in event["type"]]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"type": "session.update"}', '{"type": 3, "stream_id": [1]}'])
def test_other_messages_are_no_exchange(text: str) -> None:
    assert list(to_http_interactions(connection(*frames_of(CLIENT, text), *frames_of(SERVER, text)))) == []


def test_an_error_whose_status_is_none_is_a_refusal() -> None:
    error = {"type": "error", "status": "soon", "error": {"message": "No."}}
    (one,) = to_http_interactions(connection(*frames_of(CLIENT, create()), *frames_of(SERVER, error)))
    assert (one.status, orjson.loads(one.answer)) == (400, {"error": {"message": "No."}})


def test_a_sign_of_life_before_a_refusal_does_not_make_it_a_stream() -> None:
    alive = {"type": "keepalive", "sequence_number": 0}
    frames = frames_sent(scripted(), create(3))
    (one,) = to_http_interactions(connection(frames[0], *frames_of(SERVER, alive), frames[1]))
    assert (one.status, orjson.loads(one.answer)["error"]["code"]) == (400, "invalid_type")


def test_each_event_of_the_client_stands_alone_with_what_it_began() -> None:
    socket = scripted(message("one"))
    warm_up, other = create(generate=False), {"type": "session.update"}
    interaction = connection(*frames_of(SERVER, {"type": "hello"}), *frames_sent(socket, warm_up, other, create("a")))
    parts = split_by_client_event(interaction)
    kinds = ("response.create", "session.update", "response.create")
    assert [(part.event["type"], len(began)) for part, began in parts] == list(zip(kinds, (1, 0, 1), strict=True))
    assert all(part.is_settled for part, _ in parts)


# How it is judged


def test_what_the_mock_says_itself_is_clean(tmp_path: Path) -> None:
    call = function_call("f", "{}", call_id="call_1")
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    socket = scripted(call, message("Done."))
    first = frames_sent(socket, create("a", store=False, tools=functions("f")))
    id = orjson.loads(first[-1][2])["response"]["id"]
    rest = frames_sent(socket, create([output], previous_response_id=id, store=False), create([output]))
    tally = tally_of(tmp_path, over_http(), connection(*first, *rest))
    assert tally.is_clean
    counts = ("exchanges", "requests.accepted", "requests.unverifiable", "refusals.same", "streams.conform")
    assert [tally.counts[count] for count in counts] == [4, 2, 0, 1, 2]


def test_a_stream_is_judged_event_by_event(tmp_path: Path) -> None:
    frames = frames_sent(scripted(message("one"), message("two")), create("a"), create("b"))
    place = next(place for place, (_, _, text) in enumerate(frames) if "two" in text and "delta" in text)
    frames[place] = (0.0, SERVER, frames[place][2].replace("two", "too"))
    tally = tally_of(tmp_path, connection(*frames))
    (found,) = tally.entries("streams.findings")
    assert found["id"].endswith("it.yaml#1.2")
    assert "add up to 'too'" in found["message"]


def test_a_request_that_the_mock_refuses_is_found(tmp_path: Path) -> None:
    frames = frames_sent(scripted(message("one")), create("a"))
    frames[0] = frames_of(CLIENT, create("a", colour="blue"))[0]
    (found,) = tally_of(tmp_path, connection(*frames)).entries("requests.refused")
    assert (found["rule"], found["id"].rpartition("/")[2]) == ("unknown_parameter", "it.yaml#1.1")


def test_what_the_connection_refuses_is_not_held_against_the_request(tmp_path: Path) -> None:
    error = {"type": "invalid_request_error", "code": "previous_response_not_found", "message": "x", "param": None}
    first = frames_sent(scripted(message("one")), create("a", store=False, tools=functions("f")))
    id = orjson.loads(first[-1][2])["response"]["id"]
    gone = frames_of(CLIENT, create("b", previous_response_id=id))
    tally = tally_of(
        tmp_path, connection(*first, *gone, *frames_of(SERVER, {"type": "error", "status": 400, "error": error}))
    )
    assert (tally.is_clean, tally.reasons["refusals.unverifiable", ABOUT_CONNECTION]) == (True, 1)


def played(case: Case) -> Interaction:
    """Return the recorded connection of an example of a rule."""
    headers = next((step.headers for step in (*case.before, case) if step.headers), {})
    socket, frames, before = Socket(headers=headers), list[Frame](), list[Any]()
    socket.mock.script(*case.turns, *([message("ok")] * 40))
    for step in (*case.before, case):
        socket.world.account = step.account or socket.world.account
        socket.mock.skip(step.skip or 0)
        body = build_request(step, before).body
        frames += frames_of(CLIENT, body.decode("utf-8", "replace"))
        frames += frames_of(SERVER, *socket.session.receive(body))
        before.append(socket.journal[-1].answer)
    return connection(*frames, headers=headers)


@pytest.mark.slow
def test_no_example_of_a_rule_about_websockets_is_a_false_alarm(tmp_path: Path) -> None:
    over_sockets = [
        case for case in CASES if all((step.on or "").startswith("WS") for step in (*case.before, case)) and case.body
    ]
    assert len(over_sockets) > 20
    tally = tally_of(tmp_path, *map(played, over_sockets))
    assert {finding: list(tally.entries(finding)) for finding in FINDINGS if tally.counts[finding]} == {}


# Where it stands in a file


def test_connections_are_numbered_after_what_went_over_http(tmp_path: Path) -> None:
    frames = frames_sent(scripted(message("one"), message("two")), create("a"), create("b"))
    file = cassette(tmp_path, over_http({"model": "gpt-4.1"}, {}), connection(*frames), connection(*frames[:1]))
    name = file.as_posix()
    assert [(number, recorded.id) for number, recorded in read_numbered(file)] == [
        (1, f"{name}#1"),
        (2, f"{name}#2.1"),
        (2, f"{name}#2.2"),
        (3, f"{name}#3.1"),
    ]
    assert {recorded.provider for recorded in read_recording(file)} == {"openai"}


def test_a_connection_that_cannot_be_read_is_reported_after_all_that_can(tmp_path: Path) -> None:
    file = cassette(
        tmp_path, over_http(HI, status=500), connection(*frames_sent(scripted(message("one")), create("a")))
    )
    file.write_text(file.read_text(encoding="utf-8") + "- uri: https://api.openai.com/v1/responses\n  frames: 3\n")
    tally, _ = judged(tmp_path, file)
    (found,) = tally.entries("unreadable")
    assert tally.counts["exchanges"] == 1
    assert "sockets[1].frames" in found["message"]


CREATE = {"type": "response.create"}
ERROR = {"type": "invalid_request_error", "code": "c", "message": "No.", "param": None}


def parts(*frames: tuple[str, Any]) -> list[SocketExchange]:
    """Return the parts of a connection over which `>` (the client) and `<` said these events."""
    sides = {">": "client", "<": "server"}
    texts = [(sides[by], event if isinstance(event, str) else json.dumps(event)) for by, event in frames]
    return SocketLog((0.0, side, text) for side, text in texts).parts


def server_event(kind: str, id: str = "resp_1", **more: Any) -> tuple[str, Any]:
    return "<", {"type": f"response.{kind}", "response": {"id": id}, **more}


def steer(id: str) -> tuple[str, Any]:
    return ">", {"type": "response.steer", "previous_response_id": id}


DELTA = ("<", {"type": "response.output_text.delta"})


@pytest.mark.parametrize(
    ("events", "begun", "settled", "answer"),
    [
        ([], False, False, Answer(0)),
        ([server_event("created")], True, False, Answer(200, {"id": "resp_1"})),
        ([server_event("created"), DELTA, server_event("completed")], True, True, Answer(200, {"id": "resp_1"})),
    ],
)
def test_a_response_is_the_answer_to_its_event_begun_before_it_is_settled(events, begun, settled, answer) -> None:
    (part,) = parts((">", CREATE), *events)
    assert (part.is_begun, part.is_settled, part.answer) == (begun, settled, answer)


def test_lanes_are_distinguished() -> None:
    first, second = parts(
        (">", {**CREATE, "stream_id": "a"}),
        (">", {**CREATE, "stream_id": "b"}),
        server_event("completed", "resp_b", stream_id="b"),
        server_event("failed", "resp_a", stream_id="a"),
    )
    assert (first.answer.body["id"], second.answer.body["id"]) == ("resp_a", "resp_b")


def test_an_error_answers_what_is_under_way_in_its_lane_else_the_last_event() -> None:
    first, second = parts(
        (">", CREATE), server_event("completed"), (">", {"type": "x"}), ("<", {"type": "error", "error": ERROR})
    )
    assert (first.answer.status, second.answer) == (200, Answer(400, {"error": ERROR}))


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (
            {"status": 429, "error": {**ERROR, "headers": {"Retry-After": 7}}},
            Answer(429, {"error": ERROR}, {"retry-after": "7"}),
        ),
        ({"code": "c", "message": "No.", "param": None}, Answer(400, {"error": {**ERROR, "type": None}})),
    ],
    ids=["an event of a WebSocket", "an event of a stream"],
)
def test_an_error_says_its_status_its_members_and_its_headers(event: Any, answer: Answer) -> None:
    (part,) = parts((">", CREATE), ("<", {"type": "error", **event}))
    assert part.answer == answer


def test_events_about_injected_outputs_are_no_events_of_the_response() -> None:
    inject = {"type": "response.inject", "response_id": "resp_1", "input": []}
    failed = {"type": "response.inject.failed", "response_id": "resp_1", "error": {"code": "c"}}
    created, injected = parts((">", CREATE), server_event("created"), (">", inject), ("<", failed), DELTA)
    assert [event["type"] for event in created.events] == ["response.created", DELTA[1]["type"]]
    assert (injected.is_settled, injected.answer) == (True, Answer(400, {"error": {"code": "c"}}))


def test_steering_is_answered_by_the_events_about_it_while_the_response_goes_on() -> None:
    created, steered = parts(
        (">", CREATE),
        server_event("created"),
        steer("resp_1"),
        DELTA,
        ("<", {"type": "response.steer.accepted", "steer": {"id": "steer_1"}}),
        server_event("completed"),
        server_event("created", "resp_2"),
    )
    assert [event["type"] for event in created.events][-1] == "response.completed"
    assert (steered.is_intervention, steered.is_settled, steered.answer.body) == (True, True, {"id": "resp_2"})


def test_steering_that_fails_is_a_refusal() -> None:
    _, steered = parts((">", CREATE), steer("r"), ("<", {"type": "response.steer.failed", "error": {"code": "c"}}))
    assert steered.answer == Answer(400, {"error": {"code": "c"}})


@pytest.mark.parametrize(("event", "asks"), [(CREATE, True), ({**CREATE, "generate": False}, False), ({}, False)])
def test_a_request_is_distinguished_from_what_http_does_not_know(event: Any, asks: bool) -> None:
    assert parts((">", event))[0].is_request is asks


def test_what_is_no_event_is_preserved_and_harms_nothing() -> None:
    assert parts(("<", {"type": "hello"})) == []
    (part,) = parts((">", "{broken"), ("<", "[1]"), ("<", {"type": "error", "stream_id": 1, "status": "x"}))
    assert (part.text, part.event, part.answer.status) == ("{broken", {}, 400)
