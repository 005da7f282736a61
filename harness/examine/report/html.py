"""Renders results as one page that needs no network: clients side by side, and what was exchanged in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

from harness.core.errors import COMMAND
from harness.core.exchange import Json
from harness.core.text import escape_controls, escape_values
from harness.examine.cell import FIX, Cell, Verdict
from harness.examine.report.results import ClientResult, ExaminationResults, group_by_reason, reason_key
from harness.report.report import RunFacts
from harness.viewer.build_run import assemble_run
from harness.viewer.case_model import ShownCase
from harness.viewer.json_form import read_text, to_text
from harness.viewer.model import CaseRow, Outcome, Run, ShownCause, ShownCell, ShownExamination
from harness.viewer.page import fill_page

_OUTCOMES: Mapping[Verdict, Outcome] = {
    "pass": "passed",
    "warn": "failed",
    "fail": "failed",
    "crash": "error",
    "hang": "error",
    "not applicable": "skipped",
}


def render(results: ExaminationResults) -> str:
    """Render the page."""
    return fill_page(*build_examined(results))


def build_examined(results: ExaminationResults) -> tuple[Run, list[str]]:
    """Build the run, with a cell for each client, case and mode, and the cases that show what was exchanged."""
    cells: list[ShownCell] = []
    rows: list[CaseRow] = []
    texts: list[str] = []
    for client in results.clients:
        for cell in client.cells:
            shown = _show_flow(client, cell)
            cells.append(_show_cell(client, cell, shown.row.id if shown else ""))
            if shown:
                rows.append(shown.row)
                texts.append(to_text(shown))
    names = [escape_controls(client.client) for client in results.clients]
    examination = ShownExamination(names, escape_values(dict(results.cases)), cells)
    return assemble_run(rows, _facts(results), examination=examination, line=_line(results)), texts


def _facts(results: ExaminationResults) -> RunFacts:
    command = "; ".join(f"{COMMAND} examine {client.adapter}" for client in results.clients)
    versions = {client.name: client.client.partition(" ")[2] for client in results.clients}
    return RunFacts("examine", command, 0, sum(client.seconds for client in results.clients), "", versions)


def _line(results: ExaminationResults) -> str:
    counted = (
        f"{client.client}: {', '.join(f'{count} {verdict}' for verdict, count in client.count().items())}"
        for client in results.clients
    )
    return escape_controls("; ".join(counted))


def _show_cell(client: ClientResult, cell: Cell, flow: str) -> ShownCell:
    is_red = bool(group_by_reason([cell]))
    details = [*_details(cell), ("printed", "\n".join(cell.printed)), ("flow", cell.flow)]
    return ShownCell(
        cell.case,
        escape_controls(client.client),
        cell.mode,
        cell.verdict,
        cell.severity,
        escape_controls(cell.reason),
        escape_controls(reason_key(cell)) if is_red else "",
        [(label, escape_controls(text)) for label, text in details if text],
        flow,
        client.reproduce(cell),
    )


def _details(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield the reasons of a cell, each with its fix."""
    for reason in cell.reasons:
        lines = reason.splitlines()
        yield "why", "\n".join(line for line in lines if not line.startswith(FIX))
        yield "fix", "\n".join(line.removeprefix(FIX) for line in lines if line.startswith(FIX))


def _show_flow(client: ClientResult, cell: Cell) -> ShownCase | None:
    """Show what was exchanged in a cell; results read from a file have only the diagram."""
    if not cell.view and not cell.sequence.messages:
        return None
    id = escape_controls(f"{client.client} {cell.case} [{cell.mode}]")
    rows = [(label, escape_controls(text)) for label, text in _details(cell) if text]
    reason = escape_controls(cell.reason)
    cause = ShownCause(reason, kind="examined", rows=rows, group=escape_controls(reason_key(cell)))
    known = read_text(cell.view["case"], ShownCase) if cell.view else None
    drawn: Json | None = None if known else escape_values(_plain_sequence(cell))
    row = CaseRow(id, id, "", 0, _OUTCOMES[cell.verdict], cell.seconds, cell.requests, 0, 0)
    shown = known or ShownCase(row, (), (), (), sequence=drawn, mermaid=escape_controls(cell.diagram))
    causes = [cause] if cell.reasons and cell.verdict != "not applicable" else []
    named = replace(shown.row, id=id, name=id, outcome=row.outcome, seconds=cell.seconds, causes=causes)
    return replace(shown, row=named)


def _plain_sequence(cell: Cell) -> Json:
    drawn = asdict(cell.sequence)
    return {"participants": [*drawn["participants"]], "messages": [*drawn["messages"]]}
