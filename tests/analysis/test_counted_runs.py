"""Runs of counted tools: each call is executed once, with its own arguments, and answered with what came of it."""

from datetime import date
from enum import Enum
from typing import Any

import pytest

from harness.analysis.loss import PROMPT, losses_of, output
from harness.core.exchange import Json, ToolRun, ToolRuns
from harness.items import function_call, message
from tests.support.in_process import Client

A7, B9 = {"order": "A7"}, {"order": "B9"}


class Unit(Enum):
    CELSIUS = "C"


def ran(arguments: Json, returned: Any = "refunded", *, failed: bool = False, **defaults: Any) -> ToolRun:
    return ToolRun("refund", arguments, returned, failed, {**defaults, **arguments})


def lost_runs(*spans: tuple[int, int]) -> list[str]:
    """Return what is lost when a tool runs for a call of exchange 1, and again in the span of each exchange."""
    again = [ran(A7)._replace(after=after, until=until) for after, until in spans]
    return lost([A7], [ran(A7), *again], ["refunded"])


def lost(called: list[Json], runs: list[ToolRun], answers: list[str]) -> list[str]:
    """Return what is lost when calls of `refund` are answered in a chain, and the tool ran as recorded."""
    client = Client()
    calls = [
        function_call("refund", arguments, call_id=f"call_{n}", off_schema=True) for n, arguments in enumerate(called)
    ]
    client.mock.script(calls, message("Done."))
    first = client.ask([PROMPT]).body["id"]
    client.ask([output(f"call_{n}", text) for n, text in enumerate(answers)], previous_response_id=first)
    recorded = ToolRuns(runs, {"refund"})
    return [
        found.message.partition("exchange 1 ")[2] for found in losses_of(client.world.exchanges, tool_runs=recorded)
    ]


@pytest.mark.parametrize(
    ("called", "runs", "answers", "told"),
    [
        ([A7], [ran(A7), ran(A7)], ["refunded"], ["that its tool has run 2 times"]),
        (
            [A7],
            [ran({}, " is refunded", order="")],
            [" is refunded"],
            ['was answered with the result of other arguments: "is refunded", which refund() returned'],
        ),
        (
            [A7],
            [ran(B9, "B9 is refunded")],
            ["B9 is refunded"],
            ["was answered with the result of other arguments: \"B9 is refunded\", which refund(order='B9') returned"],
        ),
        (
            [A7, B9],
            [ran(B9, "B9 is refunded"), ran(B9, "B9 is refunded")],
            ["B9 is refunded"] * 2,
            ["was answered with the result of other arguments: \"B9 is refunded\", which refund(order='B9') returned"],
        ),
        (
            [{"from": "A7", "to": "B9"}],
            [ran({"from": "B9", "to": "A7"}, "moved")],
            ["moved"],
            ["was answered with the result of other arguments: \"moved\", which refund(from='B9', to='A7') returned"],
        ),
    ],
)
def test_a_run_too_many_or_with_other_arguments_is_told(
    called: list[Json], runs: list[ToolRun], answers: list[str], told: list[str]
) -> None:
    assert lost(called, runs, answers) == told


@pytest.mark.parametrize(
    ("called", "runs", "answers"),
    [
        ([A7], [ran(A7)], ["refunded"]),
        ([A7], [ran(A7, failed=True), ran(A7)], ["refunded"]),
        ([A7], [ran(A7, unit="C")], ["refunded"]),
        ([A7], [ran({**A7, "unit": "C"})], ["refunded"]),
        ([A7], [ran({**A7, "context": object()})], ["refunded"]),
        ([A7], [ran({"arguments": A7})], ["refunded"]),
        ([A7], [ran({"raw": '{"order": "A7"}'})], ["refunded"]),
        ([A7], [ran(B9), ran(A7)], ["refunded"]),
        ([A7], [ran(B9)], ["The user rejected the call."]),
        ([A7], [ran(B9, "B9 is refunded")], ["The user chose B9: B9 is refunded"]),
        ([A7, B9], [ran(A7, None)], ["null", "The user rejected the call."]),
        ([A7, A7], [ran(A7)], ["refunded"] * 2),
        ([A7, A7], [ran(A7), ran(A7)], ["refunded"] * 2),
        ([{}], [ran({})], ["refunded"]),
        ([{}, {"page": 2}], [ran({"user": "ann"}), ran({"user": "ann", "page": 2})], ["refunded"] * 2),
        ([{"order": None}], [ran({}, order="all")], ["refunded"]),
        ([{"invented": "by the model"}], [ran({})], ["refunded"]),
        ([{"count": 2}], [ran({"count": 2.0})], ["refunded"]),
        ([{"count": 2}], [ran({"count": "2"})], ["refunded"]),
        ([{"dry": True}], [ran({"dry": 1})], ["refunded"]),
        ([{"unit": "C"}], [ran({"unit": Unit.CELSIUS})], ["refunded"]),
        ([{"day": "2026-11-30"}], [ran({"day": date(2026, 11, 30)})], ["refunded"]),
        ([{"path": "a.py"}], [ran({"path": "/project/a.py"})], ["refunded"]),
        ([{"order": " A7 "}], [ran({"order": "a7"})], ["refunded"]),
    ],
)
def test_a_run_that_a_framework_converted_or_repeated_after_a_failure_is_right(
    called: list[Json], runs: list[ToolRun], answers: list[str]
) -> None:
    assert lost(called, runs, answers) == []


@pytest.mark.parametrize("span", [(0, 1), (0, 2)])
def test_a_run_repeats_a_call_that_may_have_led_to_it(span: tuple[int, int]) -> None:
    assert lost_runs(span) == ["that its tool has run 2 times"]


@pytest.mark.parametrize("span", [(0, 0), (1, 1), (1, 2), (2, 2)])
def test_a_run_that_no_call_can_have_led_to_repeats_none(span: tuple[int, int]) -> None:
    assert lost_runs(span, span) == []
