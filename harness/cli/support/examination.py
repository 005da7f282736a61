"""Prints the results of an examination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli.support.app import make_console
from harness.core.text import pluralize, shorten

if TYPE_CHECKING:
    from harness.examine.results import BaselineComparison, Cell, ClientResult

MAX_REASON = 300
"""Characters of a reason that are printed."""


def print_summary(result: ClientResult, areas: Sequence[str], failures: Sequence[Cell]) -> None:
    """Print a table by area, each reason for failures with its fix, and how to see more of one."""
    from rich.table import Table

    from harness.examine.results import VERDICTS, group_by_reason, is_untold, name_cases

    console = make_console()
    runs = [cell for cell in result.cells if cell.mode]
    console.print(f"{result.client}: {pluralize(len(runs), 'run')} in {result.seconds:.1f} s")
    table = Table("area", *VERDICTS, box=None, pad_edge=False)
    for area in [*areas, ""]:
        count = result.count(area)
        table.add_row(area or "all", *(str(count[verdict] or "-") for verdict in VERDICTS))
    console.print(table)
    for group in group_by_reason(result.cells):
        cell, cases = group[0], len({alike.case for alike in group})
        where = f"{cell.case}  [{' '.join(alike.mode for alike in group)}]"
        if cases > 1:
            where = f"{pluralize(len(group), 'run')} of {cases} cases: {name_cases(group)}"
        console.print(f"{cell.verdict} {cell.severity}  {where}")
        console.print(f"  {shorten(cell.reason, MAX_REASON)}")
        if cell.fix:
            console.print(f"  fix: {shorten(cell.fix, MAX_REASON)}")
    if untold := [cell for cell in result.cells if not cell.mode and cell.severity == "must" and is_untold(cell)]:
        console.print(f"not told  {', '.join(cell.case for cell in untold)}")
        console.print(
            f"  {shorten(untold[0].reason, MAX_REASON)}: whether half a text is shown as the answer is not known"
        )
    if failures:
        console.print(f"{pluralize(len(failures), 'failure')}. To see one: {result.reproduce(failures[0])}")


def print_cells(result: ClientResult, verbose: bool) -> None:
    """Print each cell with its reasons and flow, with `verbose` also the diagram."""
    console = make_console()
    for cell in result.cells:
        console.print(f"{cell.case}  [{cell.mode}]  {cell.verdict}  {cell.seconds:.2f} s")
        for reason in cell.reasons:
            console.print(f"  {reason}")
        for line in cell.printed:
            console.print(f"  printed: {line}")
        for text in (cell.flow, cell.diagram if verbose else ""):
            if text:
                console.print("\n".join(f"  {line}" for line in text.splitlines()), soft_wrap=True)


def print_comparison(compared: BaselineComparison, *, to_stderr: bool) -> None:
    """Print the differences from the baseline."""
    console = make_console(stderr=to_stderr)
    new, known, fixed = map(len, compared)
    console.print(f"against the baseline: {new} new, {known} known, {fixed} fixed")
    for name, cells in (("new", compared.new), ("fixed", compared.fixed)):
        for cell in cells:
            console.print(f"  {name}  {cell.case}  [{cell.mode}]")
