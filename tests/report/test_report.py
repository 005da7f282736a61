"""What a report may write of a test's exchanges, and how it counts what was found."""

from __future__ import annotations

import json
from typing import Any

from harness.explain.model import ReportFinding
from harness.faults import hang_up
from harness.items import message
from harness.report.report import ReportCase, Totals, count_totals, documentation_of, summary_line
from harness.report.sanitize import MAX_LIST_LENGTH, MAX_TEXT_LENGTH
from tests.support.reports import KEY, ask, fill_case, make_mock, post

# What is written


def test_an_exchange_has_all_that_went_to_and_fro() -> None:
    mock = make_mock()
    ask(mock, "hi", stream=True, instructions="You are the planner.")
    trial = fill_case(mock.worlds[KEY])
    (exchange,) = trial.exchanges
    assert (exchange["lane"], exchange["operation"], exchange["status"]) == ("planner", "POST /responses", 200)
    assert exchange["request"]["input"] == "hi"
    assert [event["type"] for event in exchange["events"]][-1] == "response.completed"
    assert exchange["answer"]["output"][0]["content"][0]["text"] == "ok"
    assert "planner" in trial.diagram
    assert trial == ReportCase.from_json(trial.to_json())


def test_a_long_stream_is_drawn_and_told_by_its_beginning() -> None:
    mock = make_mock([message([f"word{number} " for number in range(MAX_LIST_LENGTH + 9)])])
    ask(mock, "hi", stream=True)
    trial = fill_case(mock.worlds[KEY])
    assert (len(trial.exchanges[0]["events"]), trial.exchanges[0]["events"][-1][:1]) == (MAX_LIST_LENGTH + 1, "…")
    assert "word0" in trial.diagram


def test_a_test_without_a_request_has_no_diagram() -> None:
    assert fill_case(make_mock().worlds[KEY]).diagram == ""


def test_an_answer_that_never_came_has_status_0() -> None:
    mock = make_mock()
    mock.open(KEY).script(hang_up())
    ask(mock, "hi")
    (exchange,) = fill_case(mock.worlds[KEY]).exchanges
    assert (exchange["status"], exchange["broke"], exchange["answer"]) == (0, "no answer", None)


def test_a_body_that_is_no_json_is_a_text() -> None:
    mock = make_mock()
    post(mock, b'{"model": \xff')
    (exchange,) = fill_case(mock.worlds[KEY]).exchanges
    assert exchange["request"] == '{"model": \ufffd'


def test_the_key_and_whatever_looks_like_one_is_hidden_everywhere() -> None:
    mock = make_mock([message(f"your key is {KEY}")])
    other = "sk-proj-abcdefghijklmnopqrstuvwx"
    ask(mock, f"{'x' * (MAX_TEXT_LENGTH - 10)} {other}")
    ask(mock, f"{other} {KEY}", stream=True, metadata={KEY: other}, bogus=other)
    post(mock, f'{{"{KEY}": '.encode())
    mock.open(KEY).script(message(KEY))
    trial = fill_case(mock.worlds[KEY], "failed", why=f"E {KEY}")
    text = json.dumps(trial.to_json())
    assert "[hidden]" in text
    assert not [part for part in (KEY, other, other[:8]) if part in text]


# Totals and the line


def found(kind: Any, expected: bool) -> ReportFinding:
    return ReportFinding(kind, expected, "x")


def test_totals_count_by_kind() -> None:
    kinds = ("refusal", "loss", "unanswered", "unused")
    both = [found(kind, expected) for kind in kinds for expected in (True, False)]
    assert count_totals(3, both) == Totals(1, 3, expected=1, unexpected=1, losses=2, unanswered=1, unused=1)


def test_the_line_of_a_good_run() -> None:
    assert (
        summary_line(Totals(9, 214, expected=2), 61)
        == "contract: 214 exchanges, 2 refusals expected, 0 losses, 61 % of rules"
    )


def test_the_line_of_a_bad_run() -> None:
    assert summary_line(Totals(1, 1, 1, 2, 1, 1, 2), 0) == (
        "contract: 1 exchange, 1 refusal expected, 2 unexpected, 1 loss, 1 unanswered, 2 turns unused, 0 % of rules"
    )


def test_the_line_of_recordings() -> None:
    both = [found(kind, expected) for kind in ("disagreement", "unreadable") for expected in (True, False)]
    assert summary_line(count_totals(3, both), 9) == (
        "contract: 3 exchanges, 0 refusals expected, 0 losses, 1 disagreement, 1 unreadable, 9 % of rules"
    )


def test_a_rule_and_a_loss_are_explained_and_nothing_else() -> None:
    assert documentation_of("call_needs_output")["source"]
    assert documentation_of("citation-dropped")["fix"]
    assert documentation_of("bogus") == {}
