"""`harness report`: what pytest --harness-report wrote, in other forms, several made one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import make_console
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.report.model import Report

MERGE = "merge"
STDOUT = Path("-")
MAX_FINDINGS = 20
"""Findings that are told on a terminal, the first ones."""


def report(
    files: Annotated[list[str], typer.Argument(metavar="[merge] FILE...", help="JSON reports; several become one.")],
    as_json: Annotated[
        Path | None, typer.Option("--json", "-o", metavar="FILE", help="Write JSON; - is stdout.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one page that needs no network.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF, for code hosts.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write Markdown, for the summary of a job.")
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=100, metavar="PCT", help="End with 1 below so many per cent of the rules."),
    ] = None,
) -> None:
    """Show, convert and merge reports of pytest --harness-report=FILE.json and harness verify --report FILE.json.

    `merge` makes one JSON report of several, of shards or jobs of a matrix: in the file of -o, else on stdout; the other
    options go with it. Without it the report is told, with annotations where GitHub Actions reads them.
    """
    from harness.report.formats import render_report, write_report
    from harness.report.formats.json_file import merge_reports, read_report

    merging = files[0] == MERGE
    into = as_json or (STDOUT if merging else None)
    wanted = {".json": into, ".html": html, ".xml": junit, ".sarif": sarif, ".md": markdown}
    _check_arguments(merging, files, list(wanted.values()).count(STDOUT))
    whole = merge_reports([read_report(Path(file)) for file in files[merging:]])
    for suffix, file in wanted.items():
        if file == STDOUT:
            typer.echo(render_report(whole, suffix), nl=False)
        elif file:
            write_report(whole, file, suffix)
    if STDOUT not in wanted.values():
        _print_report(whole)
    _check_fail_under(whole, fail_under)


def _check_arguments(merging: bool, files: list[str], on_stdout: int) -> None:
    """Say what of the request cannot be done."""
    if merging and not files[1:]:
        raise ConfigError("merge: say of which files: harness report merge A.json B.json -o C.json.")
    if on_stdout > 1:
        also = "merge writes JSON there unless -o names a file; " if merging else ""
        raise ConfigError(f"only one form can go to stdout: {also}give the others a file.")


def _print_report(report: Report) -> None:
    """The report on a terminal: its line, the first things to mend, the surface that was touched."""
    from rich.table import Table

    from harness.report.coverage import DIMENSIONS
    from harness.report.formats import ACTIONS_VARIABLE
    from harness.report.formats.github import annotation_commands
    from harness.report.model import summary_line

    console = make_console()
    console.print(summary_line(report.totals, report.percent_covered("rules")))
    for trial, found in report.unexpected[:MAX_FINDINGS]:
        console.print(f"{':'.join(map(str, trial.location_of(found)))}  {found.title}: {found.text}")
    if (hidden := len(report.unexpected) - MAX_FINDINGS) > 0:
        console.print(f"… and {hidden} more")
    table = Table("surface", "touched", "of", "%", box=None, pad_edge=False)
    for name, title in DIMENSIONS.items():
        table.add_row(
            title, str(len(report.hit[name])), str(len(report.known[name])), str(report.percent_covered(name))
        )
    console.print(table)
    if ACTIONS_VARIABLE in os.environ:
        for command in annotation_commands(report):
            typer.echo(command)


def _check_fail_under(report: Report, least: float | None) -> None:
    from harness.report.coverage import has_coverage

    if least is not None and not has_coverage(report.hit["rules"], report.known["rules"], least):
        typer.echo(
            f"harness: {report.percent_covered('rules')} % of rules, --fail-under asks for {least:g} %", err=True
        )
        raise typer.Exit(1)
