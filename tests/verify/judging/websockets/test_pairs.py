"""What was said over a WebSocket, told apart: each event of the client with its own answer, whatever came in between."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core.exchange import Answer
from harness.verify.judging.websockets.pairs import SocketExchange, SocketLog

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


def test_a_response_is_the_answer_to_its_event() -> None:
    (part,) = parts(
        (">", CREATE), server_event("created"), ("<", {"type": "response.output_text.delta"}), server_event("completed")
    )
    assert (part.is_begun, part.is_settled, part.answer) == (True, True, Answer(200, {"id": "resp_1"}))


def test_it_is_begun_before_it_is_settled() -> None:
    (part,) = parts((">", CREATE), server_event("created"))
    assert (part.is_begun, part.is_settled) == (True, False)
    (part,) = parts((">", CREATE))
    assert (part.is_begun, part.answer) == (False, Answer(0))


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


def test_an_error_says_its_status_and_its_headers() -> None:
    event = {"type": "error", "status": 429, "error": {**ERROR, "headers": {"Retry-After": 7}}}
    (part,) = parts((">", CREATE), ("<", event))
    assert part.answer == Answer(429, {"error": ERROR}, {"retry-after": "7"})


def test_an_error_event_of_a_stream_has_its_members_itself() -> None:
    (part,) = parts((">", CREATE), ("<", {"type": "error", "code": "c", "message": "No.", "param": None}))
    assert part.answer.body == {"error": {**ERROR, "type": None}}


def test_steering_is_answered_by_the_events_about_it_while_the_response_goes_on() -> None:
    created, steered = parts(
        (">", CREATE),
        server_event("created"),
        steer("resp_1"),
        ("<", {"type": "response.output_text.delta"}),
        ("<", {"type": "response.steer.accepted", "steer": {"id": "steer_1"}}),
        server_event("completed"),
        server_event("created", "resp_2"),
    )
    assert [event["type"] for event in created.events][-1] == "response.completed"
    assert (steered.is_steering, steered.is_settled, steered.answer.body) == (True, True, {"id": "resp_2"})


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
