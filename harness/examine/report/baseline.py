"""A result compared with an earlier one: what fails that did not, what no longer does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.core.errors import ConfigError
from harness.examine.cell import Cell
from harness.examine.report.results import ClientResult, ExaminationResults


class BaselineComparison(NamedTuple):
    """Failures that the baseline does not have, failures that it has, and those of it that are mended."""

    new: Sequence[Cell]
    known: Sequence[Cell]
    fixed: Sequence[Cell]


def compare_with_baseline(result: ClientResult, baseline: ExaminationResults) -> BaselineComparison:
    """A result against the earlier one of the same client, of any release; ConfigError when there is none."""
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
    same = [each for each in baseline.clients if each.name == result.name]
    if exact := [each for each in same if each.client == result.client]:
        same = exact
    if len(same) == 1:
        return same[0]
    held = ", ".join(each.client for each in baseline.clients)
    problem = "several results" if same else "no result"
    raise ConfigError(
        f"--baseline: it has {problem} of {result.name} (it holds {held}). Give the file of one earlier run."
    )
