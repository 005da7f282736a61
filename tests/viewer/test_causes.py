"""The causes that several tests share, and how they are headed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.items import function_call
from harness.viewer.causes import group_causes
from harness.viewer.model import CaseRow
from tests.support.in_process import user
from tests.support.shown import TOOL, Asked


def unanswered_call(before: int) -> CaseRow:
    """Return a test whose client leaves a call without an output, after so many other requests."""
    asked = Asked()
    asked.mock.script(*["Hello."] * before, function_call("look", {}, call_id="call_1"))
    for _ in range(before):
        asked.ask("Hello?")
    call = asked.ask([user("Look.")], tools=[TOOL])["output"][0]
    asked.ask([user("Look."), call, user("And?")], tools=[TOOL])
    return replace(asked.show().row, id=f"after {before}")


@pytest.mark.parametrize(
    ("numbers", "head"),
    [
        ((0,), "Request 2 was refused (400): No tool output found for function call call_1."),
        ((0, 0), "Request 2 was refused (400): No tool output found for function call call_1."),
        ((0, 1), "Refused (400): No tool output found for function call call_1."),
    ],
    ids=["one-test", "the-same-number", "other-numbers"],
)
def test_a_cause_of_several_tests_is_headed_without_the_number_of_the_first(numbers: list[int], head: str) -> None:
    [group] = group_causes([unanswered_call(before) for before in numbers])
    assert (group.what, [number for _, number in group.cases]) == (head, [before + 2 for before in numbers])


def test_a_request_that_no_turn_answers_and_a_loss_are_worded_for_several_tests_too() -> None:
    asked = Asked()
    asked.ask("hi")
    [cause] = asked.show().row.causes
    assert cause.what.startswith("Request 1, POST /responses, could not be answered: ")
    assert cause.general == cause.what.replace("Request 1, POST /responses,", "POST /responses")
    lost = Asked()
    lost.mock.script([function_call("look", {}, call_id="call_1")], "Hm.")
    lost.ask([user("Look.")], tools=[TOOL])
    lost.ask([user("Look."), user("And?")], tools=[TOOL])
    [cause] = lost.show().row.causes
    assert cause.what == cause.general.replace(": ", " in request 2: ", 1)
