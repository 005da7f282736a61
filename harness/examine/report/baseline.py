"""Compares a result with an earlier one: new failures, and mended ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.errors import ConfigError
from harness.examine.cell import Cell
from harness.examine.report.results import ClientResult, ExaminationResults


class BaselineComparison(NamedTuple):
    """Failures beside those of the baseline, failures in both, and mended ones."""

    new: Sequence[Cell]
    known: Sequence[Cell]
    fixed: Sequence[Cell]


def compare_with_baseline(result: ClientResult, baseline: ExaminationResults) -> BaselineComparison:
    """Compare a result with the earlier one of the same client, of any release; ConfigError without one."""
    before = {(cell.case, cell.mode) for cell in _find_earlier(result, baseline).failures}
    new = [cell for cell in result.failures if (cell.case, cell.mode) not in before]
    known = [cell for cell in result.failures if (cell.case, cell.mode) in before]
    fixed = [
        cell
        for cell in result.cells
        if (cell.case, cell.mode) in before and cell.verdict != "not applicable" and not cell.is_failure
    ]
    return BaselineComparison(new, known, fixed)


def _find_earlier(result: ClientResult, baseline: ExaminationResults) -> ClientResult:
    same = [earlier for earlier in baseline.clients if earlier.name == result.name]
    if exact := [earlier for earlier in same if earlier.client == result.client]:
        same = exact
    if len(same) == 1:
        return same[0]
    held = ", ".join(earlier.client for earlier in baseline.clients)
    problem = "several results" if same else "no result"
    raise ConfigError(
        f"--baseline: it has {problem} of {result.name} (it holds {held}). Give the file of one earlier run."
    )
