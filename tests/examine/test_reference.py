"""A correct client passes every case of the catalogue in every mode."""

import pytest

from harness.examine.adapter import modes_of
from harness.examine.case import AREAS
from harness.examine.run_cases import select_cases
from tests.examine.reference.client import ReferenceClient
from tests.examine.reference.in_process import open_bench


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_the_reference_client_passes(area):
    client = ReferenceClient()
    runs = [(case, mode) for case in select_cases(f"{area}/*") for mode in modes_of(case, client.declare())]
    with open_bench() as bench:
        cells = bench.run_each(runs, client)
    assert cells
    assert {f"{cell.case} {cell.mode}": cell.reasons for cell in cells if cell.verdict != "pass"} == {}
