"""The tables of what clients do on faults: each row is made of cells, and a release replaces its own rows alone."""

from dataclasses import replace
from typing import Any

import pytest

import harness.examine.cases  # noqa: F401  (registers every case)
from harness.core.delivery import DISCONNECT_AT_END
from harness.core.exchange import Answer, Exchange, Request
from harness.drive.coding_agents import CODING_AGENTS
from harness.examine.adapter import Declaration
from harness.examine.case import CASES
from harness.examine.client_process import Crashed, Done, Hung
from harness.examine.results import Cell, ClientResult
from harness.examine.run_cases import describe_end
from harness.examine.task import Outcome
from tests.clients.behaviour import BEGIN, END, GROUPS, render_behaviour
from tests.clients.coding import PROGRAMS, SCRIPTS, is_shortened
from tests.support.in_process import Client

PAGE = f"before\n{BEGIN}\n{END}\nafter\n"


def cell(case: str, ended: str, asks: int = 1) -> Cell:
    return Cell(
        case=case, severity="must", mode="stream,chain", verdict="pass", ended=ended, requests=asks + 1, asks=asks
    )


def examined(client: str, *cells: Cell) -> ClientResult:
    return ClientResult(declared=Declaration(client=client), adapter="a", seconds=1.0, complete=True, cells=cells)


def streamed(*types: str, cut: bool = False) -> list[Exchange]:
    delivery = DISCONNECT_AT_END if cut else None
    answer = Answer(200, {}, events=[{"type": type} for type in types], delivery=delivery)
    return [Exchange(1, Request("POST", "/responses", operation="POST /responses"), answer)]


WHOLE = streamed("response.created", "response.output_text.delta", "response.completed")
UNENDED = streamed("response.created", "response.output_text.delta")
CUT = streamed("response.created", "response.completed", cut=True)


@pytest.mark.parametrize(
    ("ended", "exchanges", "told"),
    [
        (Outcome(texts=["Sunny, 18 °C."]), WHOLE, "the answer"),
        (Outcome(texts=["Sunny,"]), UNENDED, "the text so far"),
        (Outcome(texts=["Sunny,"]), CUT, "the text so far"),
        (Outcome(), UNENDED, "an empty answer"),
        (Outcome(error={"type": "RateLimitError", "message": "no", "status": 429}), CUT, "RateLimitError 429"),
        (Outcome(error={"type": "APIConnectionError", "message": "no", "status": None}), CUT, "APIConnectionError"),
        (Crashed("gone"), CUT, "it dies"),
        (Hung("silent"), CUT, "it hangs"),
    ],
)
def test_an_end_is_worded_in_a_word_or_two(ended: Any, exchanges: list[Exchange], told: str):
    done = Done(ended, 0, []) if isinstance(ended, Outcome) else ended
    assert describe_end(done, exchanges) == told


def test_every_column_is_a_case():
    assert [case for columns in GROUPS.values() for case in columns if case not in CASES] == []


def test_a_row_has_each_way_once_with_its_retries():
    cells = [cell("errors/500-once", "the answer", 2)] * 3 + [cell("errors/500-once", "InternalServerError 500")]
    page = render_behaviour(PAGE, [examined("sdk 1.0", *cells)])
    row = next(line for line in page.splitlines() if line.startswith("| sdk 1.0 |"))
    assert row == "| sdk 1.0 | – | – | the answer (1 retry); InternalServerError 500 | – | – | – | – | – |"
    assert page.startswith("before\n")
    assert page.endswith("after\n")


def test_a_release_replaces_its_own_rows_alone():
    first = render_behaviour(
        PAGE,
        [
            examined("a 1", cell("streams/reset", "APIConnectionError")),
            examined("b 1", cell("streams/reset", "the text so far")),
        ],
    )
    second = render_behaviour(first, [examined("a 1", cell("streams/reset", "it hangs"))])
    assert "| a 1 | – | – | it hangs | – | – | – |" in second
    assert "| b 1 | – | – | the text so far | – | – | – |" in second
    assert "APIConnectionError" not in second
    assert render_behaviour(second, []) == second


def test_what_is_left_out_and_what_is_withheld_are_told_with_the_ways_of_the_session() -> None:
    id = "state/reasoning-of-a-session"
    reasons = ("1 reasoning item left out\n  fix: …", "reasoning withheld: prefix_mismatch\n  fix: …")
    lossy = replace(cell(id, "the answer"), verdict="warn", reasons=reasons, mode="plain,replay")
    page = render_behaviour(PAGE, [examined("a 1", lossy, cell(id, "the answer"))])
    assert "1 reasoning item left out, reasoning withheld: prefix_mismatch (replay); all (chain)" in page


def test_coding_agents_run_cases_of_that_table() -> None:
    assert set(SCRIPTS) <= set(GROUPS["What reaches gpt-6.2-sol of its reasoning"])
    assert set(PROGRAMS) <= set(CODING_AGENTS)


@pytest.mark.parametrize(("last", "expected"), [(1, True), (3, False)])
def test_a_history_that_grows_was_not_shortened(last: int, expected: bool) -> None:
    client = Client()
    for count in (1, 2, last):
        client.ask([{"role": "user", "content": "hi"}] * count)
    assert is_shortened(client.mock) is expected
