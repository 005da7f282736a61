"""`responses-harness examine`: runs the catalogue of what the API may do against a client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import NoReturn

import typer
from rich.table import Table

import harness.examine.cases  # noqa: F401  (registers every case)
from harness.cli.program import (
    ExitCode,
    Options,
    argument,
    call_on_signals,
    check_test_file,
    completes,
    make_console,
    option,
    print_json,
    print_note,
    print_rows,
    print_text,
    progress,
    require_known,
)
from harness.core.errors import COMMAND, ConfigError
from harness.core.text import pluralize, shorten
from harness.examine.adapter import parse_modes
from harness.examine.adapters import ADAPTERS, STARTERS, command_for, split_command, starter_command, write_starter
from harness.examine.case import CASES, ClientCase
from harness.examine.own_tests import render_tests
from harness.examine.results import (
    VERDICTS,
    BaselineComparison,
    Cell,
    ClientResult,
    ExaminationResults,
    case_json,
    compare_with_baseline,
    group_by_reason,
    is_unreported,
    name_cases,
    read_results,
    report_results,
    results_of,
)
from harness.examine.run_cases import examine as run_cases
from harness.examine.run_cases import select_cases
from harness.report.formats import check_writable, render_report, write_report
from harness.report.formats.json_file import merge_reports
from harness.report.replace_file import open_replacement


@dataclass(frozen=True, kw_only=True)
class ExamineOptions(Options):
    """The options of `responses-harness examine`."""

    adapter: list[str] | None = argument(
        None,
        "A built-in adapter, or your own MODULE:CLASS.",
        metavar="ADAPTER",
        autocompletion=completes(lambda: ADAPTERS),
    )
    command: str = option("", "Instead: a program that reads tasks and writes outcomes, one per line.", metavar="CMD")
    cases: str = option("*", "Only these cases, such as 'streams/*,errors/*'.", metavar="GLOB")
    case: str = option(
        "", "A single case, with the flow of each mode.", metavar="ID", autocompletion=completes(lambda: CASES)
    )
    modes: list[str] | None = option(
        None, "Only these modes, such as stream or plain,chain; repeatable.", metavar="MODE"
    )
    jobs: int = option(2, "The number of cases to run in parallel.", min=1, max=64)
    reports: list[Path] | None = option(
        None, "Write a report; .json .html .md .xml .sarif.", "--report", metavar="FILE"
    )
    baseline: Path | None = option(None, "An earlier JSON report: only new failures count.", metavar="FILE")
    write_test: Path | None = option(
        None, "Write a pytest file of all cases that do not pass; with --case, of that case.", metavar="FILE"
    )
    init: Path | None = option(None, "Run nothing: write a starter adapter that passes.", metavar="DIR")
    language: str = option("", "With --init: python (the default) or js.")
    merge: bool = option(False, "Run nothing: show JSON reports, given in place of an adapter, side by side.")
    list_cases: bool = option(False, "Run nothing: list the cases.", "--list")
    as_json: bool = option(False, "Print JSON.", "--json")
    verbose: bool = option(False, "With --case: also print the diagram.", "--verbose", "-v")


def examine(options: ExamineOptions) -> None:
    """Run a catalogue of API behaviours against a client: where does it break?

    Each case runs streamed and plain, and with each way of keeping a session that the client supports. An adapter drives
    the client: it reads a task and reports what the client's user saw.
    """
    if options.init:
        options.refuse_others({"init", "language"}, "--init writes an adapter; run it with the command that it prints")
        _print_starter(options.init, options.language or "python")
        return
    if options.language:
        raise typer.BadParameter(
            "--language sets the language of the adapter that --init writes: also pass --init DIR."
        )
    if options.verbose and not options.case:
        raise typer.BadParameter("-v shows the diagram of one case: also pass --case ID.")
    _check_files(options)
    chosen = _select(options.cases, options.case)
    if options.list_cases:
        options.refuse_others(
            {"list_cases", "cases", "case", "as_json"}, "--list only lists cases; combine it with --cases"
        )
        _print_catalogue(chosen, options.as_json)
    elif options.merge:
        options.refuse_others(
            {"merge", "adapter", "reports", "as_json"}, "--merge only shows reports; combine it with --report"
        )
        _merge(options.adapter or [], options.reports or [], options.as_json)
    else:
        _examine_client(options, chosen)


def _check_files(options: ExamineOptions) -> None:
    check_writable(options.reports or [])
    check_test_file(written := options.write_test)
    if written and not written.absolute().parent.is_dir():
        raise ConfigError(f"--write-test {written}: no folder {written.parent}. Create it first.")


def _examine_client(options: ExamineOptions, cases: Sequence[ClientCase]) -> NoReturn:
    given, command = options.adapter or [], options.command
    if bool(command) == bool(given) or len(given) > 1:
        raise typer.BadParameter("pass one ADAPTER, or --command CMD.")
    adapter, is_one = given[0] if given else "", bool(options.case)
    earlier = read_results(options.baseline) if options.baseline else None
    results = _examine(adapter, command, cases, options.modes or [], options.jobs)
    _write_reports(results, options.reports or [])
    if options.write_test:
        _write_tests(options.write_test, results, cases, adapter, command, every=is_one)
    code = _print_verdict(results, earlier, detailed=is_one, verbose=options.verbose, as_json=options.as_json)
    raise typer.Exit(code)


def _write_reports(results: ExaminationResults, files: Sequence[Path]) -> None:
    for file in files:
        write_report(report_results(results), file, file.suffix)


def _print_starter(folder: Path, language: str) -> None:
    """Write an adapter to start with; the last line printed is the command that runs it."""
    file = write_starter(folder, require_known("language", language, STARTERS))
    print_text(f"{file}: an adapter that passes. Insert your client at YOUR CLIENT. Next:")
    print_text(starter_command(file))


def _select(pattern: str, one: str) -> Sequence[ClientCase]:
    if not one:
        return select_cases(pattern)
    if pattern != "*":
        raise typer.BadParameter("use --cases or --case.")
    return [CASES[require_known("case", one, CASES, f"{COMMAND} examine --list")]]


def _print_catalogue(cases: Sequence[ClientCase], as_json: bool) -> None:
    if as_json:
        print_json([case_json(case) for case in cases])
        return
    rows = [{"area": case.area, "id": case.id, "severity": case.severity, "title": case.title} for case in cases]
    print_rows(rows, as_json)


def _examine(
    adapter: str, command: str, cases: Sequence[ClientCase], modes: Sequence[str], jobs: int
) -> ExaminationResults:
    words, is_meant = split_command(command) if command else command_for(adapter), parse_modes(modes)

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    with progress("examining") as advance, call_on_signals(interrupt):
        named = quote(adapter) if adapter else f"--command {quote(command)}"
        found = run_cases(words, cases, is_meant, jobs, advance, named)
    if found.complete and not any(cell.mode for cell in found.cells):
        declared = found.declared
        raise ConfigError(
            f"no case was run: {declared.client} declares the areas {', '.join(sorted(declared.areas))}, the features "
            f"{', '.join(sorted(declared.features)) or 'none'}, the states {', '.join(declared.states)}. "
            "Choose other cases or modes."
        )
    return ExaminationResults((found,), {case.id: case_json(case) for case in cases})


def _merge(files: Sequence[str], reports: Sequence[Path], as_json: bool) -> None:
    if not files:
        raise typer.BadParameter(f"pass the files: {COMMAND} examine --merge A.json B.json --report C.html.")
    merged = results_of(merge_reports([report_results(read_results(Path(file))) for file in files]))
    _write_reports(merged, reports)
    if as_json:
        _print_results(merged)
        return
    for result in merged.clients:
        print_summary(result, merged.areas, result.failures)


def _write_tests(
    file: Path, results: ExaminationResults, cases: Sequence[ClientCase], adapter: str, command: str, *, every: bool
) -> None:
    """Write the cells that did not pass, or all of them, as tests."""
    modes: dict[str, list[str]] = {}
    for cell in results.clients[0].cells:
        if cell.mode and (every or cell.verdict != "pass"):
            modes.setdefault(cell.case, []).append(cell.mode)
    if not modes:
        print_note(f"{file} is not written: every case passes. --case ID writes any case.")
        return
    with open_replacement(file) as out:
        out.write(render_tests(modes, {case.id: case for case in cases}, adapter, command).encode())


def _print_results(results: ExaminationResults) -> None:
    print_text(render_report(report_results(results), ".json"), newline=False)


def _print_verdict(
    results: ExaminationResults, earlier: ExaminationResults | None, *, detailed: bool, verbose: bool, as_json: bool
) -> ExitCode:
    result = results.clients[0]
    compared = compare_with_baseline(result, earlier) if earlier else None
    failures = compared.new if compared else result.failures
    if as_json:
        _print_results(results)
    elif detailed:
        print_cells(result, verbose)
    else:
        print_summary(result, results.areas, failures)
    if compared:
        print_comparison(compared, to_stderr=as_json)
    if not result.complete:
        print_note("interrupted: unfinished cases are missing, here and in the reports.")
        return ExitCode.INTERRUPTED
    return ExitCode.FOUND if failures else ExitCode.OK


MAX_REASON = 300
"""Characters of a reason that are printed."""


def print_summary(result: ClientResult, areas: Sequence[str], failures: Sequence[Cell]) -> None:
    """Print a table by area, each reason for failures with its fix, and how to see more of one."""
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
    if untold := [cell for cell in result.cells if not cell.mode and cell.severity == "must" and is_unreported(cell)]:
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
