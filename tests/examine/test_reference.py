"""A correct client passes every case of the catalogue in every mode."""

from __future__ import annotations

import pytest

from harness.examine.case import AREAS
from harness.examine.run_cases import select_cases
from tests.examine.reference.client import ReferenceClient
from tests.examine.reference.in_process import open_bench


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_the_reference_client_passes(area):
    with open_bench() as bench:
        cells = [cell for case in select_cases(f"{area}/*") for cell in bench.run_all(case, ReferenceClient())]
    assert cells
    assert {f"{cell.case} {cell.mode}": cell.reasons for cell in cells if cell.verdict != "pass"} == {}
