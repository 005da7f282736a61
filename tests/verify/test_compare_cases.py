"""A case and what became of it, exchange by exchange."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.faults import http_error
from harness.items import file_citation, function_call, message
from harness.verify.compare_cases import compare_cases, judge_comparison
from harness.viewer.compared import CauseGroup, ChangedExchange, ComparedCase, Comparison
from harness.viewer.page_data import ShownCase
from tests.support.in_process import user
from tests.support.shown import TOOL, Asked

Ask = Callable[[Asked], Any]


def shown(ask: Ask, *turns: Any, outcome: str = "passed") -> ShownCase:
    asked = Asked()
    asked.mock.script(*turns)
    ask(asked)
    return asked.show(outcome)


def compared(before: Ask, now: Ask, *turns: Any) -> ComparedCase:
    return compare_cases(shown(before, *turns), shown(now, *turns))


def loop(asked: Asked, text: str = "18 °C", model: str = "gpt-4.1") -> None:
    """Call a tool, and return its output over the chain."""
    call = asked.ask("Weather?", tools=[TOOL])
    output = {"type": "function_call_output", "call_id": call["output"][0]["call_id"], "output": text}
    asked.ask([output], previous_response_id=call["id"], model=model)


TURNS = (function_call("look", {}), message("Sunny."))


def test_the_same_case_has_no_change() -> None:
    assert compared(loop, loop, *TURNS) == ComparedCase(
        "test_a.py::test_it", "same", ("passed", "passed"), 2, [], [], []
    )


def test_ids_of_another_run_are_the_same() -> None:
    def later(asked: Asked) -> None:
        asked.send("POST", "/conversations")  # takes an id that the others come after
        loop(asked)

    found = compare_cases(shown(loop, *TURNS), shown(later, *TURNS))
    assert (found.same, [change.what for change in found.changes]) == (2, ["new"])


@pytest.mark.parametrize("swapped", [False, True])
def test_an_output_of_another_call_is_a_change(swapped: bool) -> None:
    def ask(asked: Asked, is_swapped: bool = False) -> None:
        asked.send("POST", "/conversations") if is_swapped else None
        calls = asked.ask("Weather?", tools=[TOOL])
        ids = [item["call_id"] for item in calls["output"]]
        outputs = [{"type": "function_call_output", "call_id": id, "output": "ok"} for id in ids]
        asked.ask(outputs[::-1] if is_swapped and swapped else outputs, previous_response_id=calls["id"])

    found = compared(ask, lambda asked: ask(asked, True), [TURNS[0], TURNS[0]], TURNS[1])
    assert [change.at for change in found.changes if change.what == "changed"] == (
        ["input[0].call_id"] if swapped else []
    )


def test_the_first_place_that_differs_is_named() -> None:
    found = compared(loop, lambda asked: loop(asked, "Rain."), *TURNS)
    assert (found.verdict, found.same) == ("same", 1)
    assert found.changes == [ChangedExchange("changed", "agent 1", 2, 2, "input[0].output", "'18 °C'", "'Rain.'")]


def test_another_model_is_the_same_agent() -> None:
    def ask(model: str) -> Ask:
        return lambda asked: [asked.ask([user(text)], model=model) for text in ("a", "b")]

    found = compared(ask("gpt-4.1"), ask("gpt-5.6-sol"), "One.", "Two.")
    assert [(change.what, change.at, change.number, change.earlier) for change in found.changes] == [
        ("changed", "model", 1, 1),
        ("changed", "model", 2, 2),
    ]


def test_answers_are_compared_where_the_requests_are_the_same() -> None:
    def ask(asked: Asked) -> None:
        asked.ask("hi")

    found = compare_cases(shown(ask, "One."), shown(ask, "Two."))
    assert [(change.what, change.at, change.now) for change in found.changes] == [
        ("changed", "output[0].content[0].text", "'Two.'")
    ]
    found = compare_cases(shown(ask, "One."), shown(ask, http_error(429, "Slow down.")))
    assert [(change.what, change.at, change.now) for change in found.changes] == [("refused", "status", "429")]


def test_what_one_of_the_two_does_not_have_is_new_or_gone() -> None:
    def ask(count: int) -> Ask:
        return lambda asked: [asked.ask("hi") for _ in range(count)]

    found = compare_cases(shown(ask(2), "One.", "Two."), shown(ask(1), "One."))
    assert found.changes == [ChangedExchange("gone", "agent 1", 0, 2)]
    found = compare_cases(shown(ask(1), "One."), shown(ask(2), "One.", "Two."))
    assert found.changes == [ChangedExchange("new", "agent 1", 2, 0)]


def forget(asked: Asked) -> None:
    """Call a tool and return no output."""
    call = asked.ask("Weather?", tools=[TOOL])
    asked.ask("Well?", previous_response_id=call["id"])


def test_a_refusal_that_is_gone_is_better_and_a_new_one_is_worse() -> None:
    red, green = shown(forget, *TURNS, outcome="failed"), shown(loop, *TURNS)
    found = compare_cases(red, green)
    assert (found.verdict, found.outcomes) == ("better", ("failed", "passed"))
    assert [(change.what, change.at) for change in found.changes] == [("accepted", "input")]
    assert found.gone_losses == []
    found = compare_cases(green, red)
    assert (found.verdict, [change.what for change in found.changes]) == ("worse", ["refused"])


def test_a_loss_that_is_gone_is_better_and_a_new_one_is_worse() -> None:
    cited = message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")])

    def ask(keeps: bool) -> Ask:
        def send(asked: Asked) -> None:
            [answer] = asked.ask([user("How?")])["output"]
            content = answer["content"] if keeps else [{**answer["content"][0], "annotations": []}]
            asked.ask([user("How?"), {**answer, "content": content}, user("Why?")])

        return send

    lossy = shown(ask(False), cited, "So.", outcome="failed")
    whole = shown(ask(True), cited, "So.")
    assert (found := compare_cases(lossy, whole)).gone_losses == ["citation-dropped"]
    assert found.verdict == "better"
    assert (found := compare_cases(whole, lossy)).new_losses == ["citation-dropped"]
    assert found.verdict == "worse"

    allowed = shown(ask(False), cited, "So.")
    assert (found := compare_cases(whole, allowed)).new_losses == []
    assert found.verdict == "same"


def test_requests_outside_the_api_are_paired_by_their_path() -> None:
    def ask(*paths: str) -> Ask:
        return lambda asked: [asked.send("GET", path) for path in paths]

    found = compared(ask("/health", "/version"), ask("/version"))
    assert (found.same, [(change.what, change.earlier) for change in found.changes]) == (1, [("gone", 1)])
    found = compared(ask("/responses/resp_1", "/health"), ask("/responses/resp_2", "/health"))
    assert (found.same, [(change.what, change.at) for change in found.changes]) == (1, [("changed", "(path)")])


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ("passed", "failed", "worse"),
        ("failed", "passed", "better"),
        ("failed", "failed", "same"),
        ("open", "open", "same"),
    ],
)
def test_outcomes_are_judged(before: Any, now: Any, verdict: str) -> None:
    case = shown(loop, *TURNS)
    cases = [replace(case, row=replace(case.row, outcome=outcome)) for outcome in (before, now)]
    assert compare_cases(*cases).verdict == verdict


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (Comparison("a"), "same"),
        (Comparison("a", new=["cause"], mended=["b"]), "worse"),
        (Comparison("a", broken=["b"]), "worse"),
        (Comparison("a", added=["b"]), "worse"),
        (Comparison("a", mended=["b"]), "better"),
        (Comparison("a", gone=[CauseGroup("a", "", "", "", [])]), "better"),
        (Comparison("a", mended=["b"], cases=[ComparedCase("c", "worse", ("passed", "passed"))]), "worse"),
        (Comparison("a", cases=[ComparedCase("c", "better", ("failed", "failed"))]), "better"),
    ],
)
def test_a_run_is_worse_if_anything_is(comparison: Comparison, verdict: str) -> None:
    assert judge_comparison(comparison) == verdict
