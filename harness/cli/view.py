"""`responses-harness view`: shows the results of a run."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import typer

from harness.cli.support.app import print_note, print_text
from harness.cli.support.options import argument, option, takes_options
from harness.core.errors import ConfigError
from harness.core.registry import suggest_name
from harness.report.replace_file import explain_write_errors, open_replacement

if TYPE_CHECKING:
    from harness.cli.support.viewed import Viewed
    from harness.viewer.model import ShownCase


@dataclass(frozen=True)
class ViewOptions:
    """The options of `responses-harness view`."""

    paths: list[Path] = argument(
        ..., "Traces, a page, a JSON report, recordings; or folders of traces or recordings.", metavar="PATH"
    )
    against: Path | None = option(
        None, "An earlier run to compare with: new and fixed causes, broken and fixed tests.", metavar="PATH"
    )
    out: Path | None = option(
        None, "Write the page to this file, not to a temporary one.", "--out", "-o", metavar="FILE"
    )
    opens: bool = option(False, "Open the page in a browser.", "--open")
    text: bool = option(False, "Print text instead, problems first.")
    tokens: int = option(2000, "With --text: the approximate maximum length.", min=50, metavar="N")
    case: str = option("", "With --text, --json, --write-test: only this case, or part of its name.", metavar="NAME")
    as_json: bool = option(False, "Print JSON instead.", "--json")
    test: Path | None = option(
        None, "Write a pytest file that reproduces the failure of the case.", "--write-test", metavar="FILE"
    )


@takes_options(ViewOptions)
def view(context: typer.Context, options: ViewOptions) -> None:
    """Show traces, reports and recordings: as a page, or as text.

    The path of the page is printed. `pytest --harness-trace=failed` writes traces, `--harness-report` reports.
    """
    from harness.cli.support.viewed import plain_json, read_compared, read_viewed

    ways = [
        name
        for name, is_given in (("--text", options.text), ("--json", options.as_json), ("--write-test", options.test))
        if is_given
    ]
    if len(ways) > 1:
        raise typer.BadParameter(f"{' and '.join(ways)}: pass one of them.")
    if options.case and not ways:
        raise typer.BadParameter(
            "--case selects a case for text, JSON or a test: also pass --text, --json or --write-test."
        )
    if options.against and (options.case or options.test):
        raise typer.BadParameter("--against compares whole runs: omit --case and --write-test.")
    viewed = read_compared(options.paths, options.against) if options.against else read_viewed(options.paths)
    if options.text:
        print_text(_render_text(viewed, options))
    elif options.as_json:
        print_text(plain_json(_only(viewed, options.case)).decode(), newline=False)
    elif options.test:
        _write_test(viewed, options, options.test)
    else:
        _write_page(viewed, options)


def _render_text(viewed: Viewed, options: ViewOptions) -> str:
    from harness.viewer.text import render_case, render_run

    if options.case:
        return render_case(viewed.run, _find(viewed, options.case), options.tokens)
    return render_run(viewed.run, viewed.open, options.tokens)


def _only(viewed: Viewed, name: str) -> Viewed:
    from dataclasses import replace

    if not name:
        return viewed
    case = _find(viewed, name)
    index = [row.id for row in viewed.run.cases].index(case.row.id)
    return replace(viewed, run=replace(viewed.run, cases=[viewed.run.cases[index]]), texts=[viewed.texts[index]])


def _find(viewed: Viewed, name: str) -> ShownCase:
    """Find a case by its name, or by a unique part of it; without a name, find the first failed case."""
    ids = [row.id for row in viewed.run.cases]
    if not name:
        wrong = [id for group in viewed.run.causes for id, _ in group.cases] or ids
        found = wrong[:1]
    else:
        found = [id for id in ids if id == name] or [id for id in ids if name in id]
    if len(found) != 1:
        which = f"{len(found)} cases match: {', '.join(found[:3])}" if found else suggest_name(name, ids or ["none"])
        raise ConfigError(f"--case {name}: {which}")
    case = viewed.open(found[0])
    assert case, "each row has its case"
    return case


def _write_test(viewed: Viewed, options: ViewOptions, file: Path) -> None:
    from harness.viewer.copies import unwritable, write_test

    case = _find(viewed, options.case)
    if not case.exchanges:
        raise ConfigError(f"--write-test: {case.row.name} has no request to send again.")
    _write(file, write_test(case).encode())
    print_text(f"{file}: {case.row.name}")
    for missing in unwritable(case):
        print_note(f"the test has no {missing}.")


def _write_page(viewed: Viewed, options: ViewOptions) -> None:
    from harness.viewer.page import fill_page

    page = fill_page(viewed.run, viewed.texts).encode()
    if options.out:
        file = options.out
        _write(file, page)
    else:
        with NamedTemporaryFile(prefix="harness-view-", suffix=".html", delete=False) as made:
            made.write(page)
        file = Path(made.name)
    print_text(str(file))
    if options.opens:
        webbrowser.open(file.absolute().as_uri())


def _write(file: Path, content: bytes) -> None:
    with explain_write_errors(str(file), "Pass another file"), open_replacement(file) as out:
        out.write(content)
