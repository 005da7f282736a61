"""A correct client passes every case of the catalogue in every mode."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from harness.examine.adapter import Mode, modes_of
from harness.examine.case import AREAS, REASONING_MODEL
from harness.examine.run_cases import select_cases
from tests.examine.reference.client import ReferenceClient
from tests.examine.reference.in_process import LONGEST, open_bench


def the_first(modes: Iterable[Mode]) -> list[Mode]:
    return list(modes)[:1]


@pytest.mark.parametrize("chosen", [the_first, pytest.param(list, marks=pytest.mark.slow)], ids=["one mode", "all"])
@pytest.mark.parametrize("area", AREAS)
def test_the_reference_client_passes(area: str, chosen: Callable[[Iterable[Mode]], list[Mode]]) -> None:
    client = ReferenceClient()
    cases = [case for case in select_cases(f"{area}/*") if case.id != LONGEST or chosen is list]
    runs = [(case, mode) for case in cases for mode in chosen(modes_of(case, client.declare()))]
    with open_bench() as bench:
        cells = bench.run_each(runs, client)
    assert cells
    assert {f"{cell.case} {cell.mode}": cell.reasons for cell in cells if cell.verdict != "pass"} == {}


@pytest.mark.slow
def test_it_loses_no_reasoning_of_a_model_that_withholds_it():
    client = ReferenceClient()
    cases = [
        replace(case, task=replace(case.task, model="gpt-6.2-sol"))
        for case in select_cases("answers/*,tools/*,state/*,agents/*")
        if case.task.model == REASONING_MODEL
    ]
    runs = [(case, mode) for case in cases for mode in modes_of(case, client.declare())]
    with open_bench() as bench:
        cells = bench.run_each(runs, client)
    assert len(cells) > 500
    assert {f"{cell.case} {cell.mode}": cell.reasons for cell in cells if cell.verdict != "pass"} == {}
