"""How near the reply of a server comes to that of the API: its words, its code, its status, or nothing of it."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.live.conformance.score import (
    Score,
    explain_nothing_asked,
    grade_reply,
    is_refused,
    reply_error,
    score_table,
)
from harness.live.http import ServerReply
from harness.verify.read_files import read_recording
from tests.support.recordings import HI, exchange, over_http, write_jsonl

DUE = {"status": 400, "message": "No.", "type": "invalid_request_error", "param": "input", "code": "bad"}
ERROR = {name: value for name, value in DUE.items() if name != "status"}
STREAMED = {"event": "error", "data": {**ERROR, "type": "error"}}
Reply = Callable[..., ServerReply]


@pytest.fixture
def reply(tmp_path: Path) -> Reply:
    def make(status: int, body: Any = None, reason: str = "", **members: Any) -> ServerReply:
        (read,) = read_recording(write_jsonl(tmp_path, [{**exchange(1, HI, status, body), **members}]))
        return ServerReply(read, over_http(HI, status=status, reason=reason))

    return make


def grade(made: ServerReply | None, kind: str = "refusal") -> str:
    question: Any = SimpleNamespace(kind=kind, expected_error=lambda before: DUE)
    return grade_reply(question, [], made)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"error": ERROR}, "words"),
        (400, {"error": {**ERROR, "message": "Never."}}, "code"),
        (400, {"error": {**ERROR, "code": "worse"}}, "status"),
        (400, {"error": {**ERROR, "param": "tools"}}, "status"),
        (400, {"detail": "No."}, "status"),
        (404, {"error": ERROR}, "other"),
        (200, {"output": []}, "taken"),
        (429, {"error": ERROR}, "limited"),
        (500, {"error": ERROR}, "failed"),
    ],
)
def test_a_refusal_is_graded_by_what_it_has_in_common_with_the_api(reply, status, body, expected):
    assert grade(reply(status, body)) == expected


def test_a_request_that_the_api_accepts_is_accepted_refused_or_failed(reply: Reply) -> None:
    assert grade(None, "accept") == "blocked"
    assert grade(reply(200, {"output": []}), "accept") == "taken"
    assert grade(reply(400, {"error": ERROR}), "accept") == "refused"
    assert grade(reply(200, None, events=[STREAMED]), "accept") == "refused"
    assert grade(reply(200, {"output": []}, "cut off"), "accept") == "failed"


def test_a_refusal_in_a_stream_has_the_error_of_its_event(reply: Reply) -> None:
    streamed = reply(200, None, events=[STREAMED])
    assert is_refused(streamed)
    assert reply_error(streamed)["message"] == "No."
    assert grade(streamed) == "other"


def test_an_error_in_another_form_is_its_own_message(reply: Reply) -> None:
    assert reply_error(reply(400, {"detail": "No."})) == {"status": 400, "message": {"detail": "No."}}
    assert reply_error(reply(0, None, "connection refused")) == {"status": 0, "message": "connection refused"}


def test_each_outcome_counts_once_and_any_but_the_best_is_a_finding() -> None:
    score = Score("http://a/v1", "gpt-4.1")
    score.left_out["time has to pass"] = 2
    nothing = "nothing was judged: no question to http://a/v1 was answered: 2 × time has to pass."
    assert explain_nothing_asked(score) == nothing
    for kind, outcome in (("refusal", "words"), ("refusal", "code"), ("accept", "taken"), ("accept", "refused")):
        score.add_outcome(kind, "tools", outcome, {})
    assert (score.refusals, score.accepts) == (
        {"tools": {"words": 1, "code": 1}},
        {"tools": {"taken": 1, "refused": 1}},
    )
    assert [finding["outcome"] for finding in score.findings] == ["code", "refused"]
    assert explain_nothing_asked(score) == ""
    names, asked, good, *_ = (list(column.cells) for column in score_table(score).columns)
    rows = list(zip(names, asked, good, strict=True))
    assert rows[:2] == [("refuses  tools", "2", "83 %"), ("accepts  tools", "2", "50 %")]
    assert ("refuses", "2", "83 %") in rows
