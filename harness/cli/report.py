"""`responses-harness report`: shows, converts and merges reports."""

from __future__ import annotations

import os
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.program import ExitCode, Options, argument, make_console, option, print_note, print_text
from harness.core.errors import COMMAND, ConfigError
from harness.core.text import pluralize
from harness.report.api_coverage import has_coverage
from harness.report.formats import ACTIONS_VARIABLE, FORMATS, render_report, write_report
from harness.report.formats.github import annotation_commands
from harness.report.formats.json_file import merge_reports, read_report
from harness.report.report import Report, name_tests, unknown_model_lines

MERGE = "merge"
STDOUT = Path("-")
MAX_CAUSES = 50
"""How many causes are printed at most."""


if TYPE_CHECKING:
    FormatOptions = Options
else:
    FormatOptions = make_dataclass(
        "FormatOptions",
        [
            (made.option, Path | None, option(None, made.help, f"--{made.option}", *short, metavar="FILE"))
            for made in FORMATS.values()
            for short in [["-o"] if made.option == "json" else []]
        ],
        bases=(Options,),
        frozen=True,
        kw_only=True,
    )
"""An option for each registered format, such as `--html FILE`; JSON also has a short one."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(FormatOptions):
    """The options of `responses-harness report`."""

    files: list[str] = argument(..., "JSON reports; several are merged.", metavar="[merge] FILE")
    fail_under: float | None = option(
        None, "Exit with 1 if coverage of the rules is below this.", min=0, max=100, metavar="PCT"
    )


def report(options: ReportOptions) -> None:
    """Show, convert and merge reports of test runs and recordings.

    pytest --harness-report=FILE.json and responses-harness verify --report FILE.json write them.

    `merge` combines several JSON reports, such as those of the jobs of a matrix, into one: in the file of -o, else on
    stdout; other options may be added. Without it, the report is summarized, with annotations in GitHub Actions.
    """
    files = options.files
    merging = files[0] == MERGE
    wanted: dict[str, Path | None] = {suffix: getattr(options, kind.option) for suffix, kind in FORMATS.items()}
    if merging:
        wanted[".json"] = wanted[".json"] or STDOUT
    _check_arguments(merging, files, list(wanted.values()).count(STDOUT))
    merged = merge_reports([read_report(Path(file)) for file in files[merging:]])
    for suffix, file in wanted.items():
        if file == STDOUT:
            print_text(render_report(merged, suffix), newline=False)
        elif file:
            write_report(merged, file, suffix)
    if STDOUT not in wanted.values():
        _print_report(merged)
    _check_fail_under(merged, options.fail_under)
    if not merged.totals.exchanges and not merged.groups and not merged.examination:
        raise ConfigError(
            f"nothing was tested: {pluralize(len(merged.cases), 'test')} with no exchange. Does the program under test "
            "read OPENAI_BASE_URL, and did a test use the fixture mock?"
        )


def _check_arguments(merging: bool, files: list[str], on_stdout: int) -> None:
    """Raise ConfigError for contradictory arguments."""
    if merging and not files[1:]:
        raise ConfigError(f"merge: pass the files: {COMMAND} report merge A.json B.json -o C.json.")
    if on_stdout > 1:
        also = "merge writes JSON there unless -o names a file; " if merging else ""
        raise ConfigError(f"only one format can go to stdout: {also}write the others to files.")


def _print_report(report: Report) -> None:
    """Print the counts, and the first causes with their tests."""
    console = make_console()
    for line in report.head:
        console.print(line)
    for line in unknown_model_lines(report.unknown_models):
        console.print(line)
    for number, failures in enumerate(report.groups[:MAX_CAUSES], 1):
        console.print(f"\n{number}. {name_tests(failures)}\n{failures[0].text}")
    if (hidden := len(report.groups) - MAX_CAUSES) > 0:
        console.print(f"… and {hidden} more")
    if ACTIONS_VARIABLE in os.environ:
        for command in annotation_commands(report):
            print_text(command)


def _check_fail_under(report: Report, least: float | None) -> None:
    if least is not None and not has_coverage(report.hit["rules"], report.known["rules"], least):
        print_note(f"{report.percent_covered('rules')} % of rules, --fail-under requires {least:g} %")
        raise typer.Exit(ExitCode.FOUND)
