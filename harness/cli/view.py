"""`responses-harness view`: shows the results of a run."""

from __future__ import annotations

import gzip
import re
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import orjson
import typer

from harness.cli.program import ExitCode, Options, argument, check_test_file, option, print_note, print_text
from harness.core.bounded_input import RAISE_ADVICE, read_bounded
from harness.core.errors import ConfigError, Malformed
from harness.core.registry import suggest_name
from harness.drive.run_program import rerun_test
from harness.report.formats.json_file import read_report
from harness.report.replace_file import explain_write_errors, open_replacement
from harness.report.report import Report, RunFacts
from harness.verify.compare_cases import compare_cases, judge_comparison
from harness.verify.judge_files import OBSERVER_SUFFIX, JudgeOptions, verify_recordings
from harness.verify.report_cases import CaseWriter, load_report
from harness.viewer.build_run import assemble_run, build_run, compare_runs, fill_page, pair_cases
from harness.viewer.compared import Comparison
from harness.viewer.copies import unwritable, write_test
from harness.viewer.fork import Fork
from harness.viewer.json_form import read_text, to_text
from harness.viewer.page_data import Documentation, Run, ShownCase
from harness.viewer.text import render_case, render_run
from harness.viewer.trace import SUFFIX, list_traces, read_trace


@dataclass(frozen=True, kw_only=True)
class ViewOptions(Options):
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
    fork: int | None = option(
        None,
        "Keep the first N requests of a case, and change what follows, in a test or a new run.",
        min=0,
        metavar="N",
    )
    model: str | None = option(None, "With --fork: the model of the requests that follow.", metavar="NAME")
    outputs: list[str] | None = option(
        None, "With --fork: what a tool, or the call with this id, returns next.", "--tool-output", metavar="NAME=TEXT"
    )
    prompt: str | None = option(None, "With --fork: what the user says next.", metavar="TEXT")
    releases: list[str] | None = option(
        None,
        "With --fork: run the test with this release, installed by uv, or in this environment, and compare.",
        "--with",
        metavar="PACKAGE==RELEASE|ENVIRONMENT",
    )


def view(options: ViewOptions) -> None:
    """Show traces, reports and recordings: as a page, or as text.

    The path of the page is printed. `pytest --harness-trace=failed` writes traces, `--harness-report` reports.
    """
    _check_options(options)
    viewed = read_compared(options.paths, options.against) if options.against else read_viewed(options.paths)
    if options.test:
        _write_test(viewed, options, options.test)
    if options.releases:
        viewed = _run_again(viewed, options)
    if options.text or (options.releases and not (options.as_json or options.out or options.opens)):
        print_text(_render_text(viewed, options))
    elif options.as_json:
        print_text(plain_json(_only(viewed, options.case)).decode(), newline=False)
    elif not options.test or options.releases:
        _write_page(viewed, options)
    if comparison := viewed.run.comparison:
        _end_compared(comparison, options)


def _check_options(options: ViewOptions) -> None:
    """Refuse options that do not go together."""
    check_test_file(options.test)
    ways = [
        name
        for name, is_given in (
            ("--text", options.text),
            ("--json", options.as_json),
            ("--write-test", options.test and not options.releases),
        )
        if is_given
    ]
    if len(ways) > 1:
        raise typer.BadParameter(f"{' and '.join(ways)}: pass one of them.")
    if options.case and not ways and not options.releases:
        raise typer.BadParameter(
            "--case selects a case for text, JSON or a test: also pass --text, --json or --write-test."
        )
    if options.against and (options.case or options.test or options.fork is not None):
        raise typer.BadParameter("--against compares whole runs: omit --case, --write-test and --fork.")
    changes = {"--model": options.model, "--tool-output": options.outputs, "--prompt": options.prompt}
    given = [name for name, value in changes.items() if value is not None]
    for name, value in (*changes.items(), ("--with", options.releases)):
        if value is not None and "" in (value if isinstance(value, list) else [value]):
            raise typer.BadParameter(f"{name}: it is empty. Give it a value, or leave it out.")
    if options.fork is None and (given or options.releases):
        raise typer.BadParameter(
            f"{[*given, '--with'][0]} changes what follows the requests that are kept: pass --fork N."
        )
    if options.fork is not None and not (options.test or options.releases):
        raise typer.BadParameter("--fork writes a test or runs one: also pass --write-test FILE, or --with a release.")
    if given and not options.test:
        raise typer.BadParameter(f"{given[0]} changes the test that is written: also pass --write-test FILE.")


def _run_again(viewed: Viewed, options: ViewOptions) -> Viewed:
    """Run the test of a case, or the written test, with other releases; return the comparison of both runs."""
    earlier = _only(viewed, _find(viewed, options.case).row.id)
    test = str(options.test) if options.test else earlier.run.cases[0].id
    with TemporaryDirectory(prefix="harness-view-") as folder:
        again = read_viewed([rerun_test(test, options.releases or (), Path(folder))])
    return compare_viewed(again, earlier, str(options.paths[0]))


def _end_compared(comparison: Comparison, options: ViewOptions) -> None:
    """Exit with 1 if the run is worse than the earlier one; for a fork also if its test fails or its kept part differs."""
    if options.releases:
        [case], kept = comparison.cases, options.fork or 0
        differing = [change for change in case.changes if min(filter(None, (change.number, change.earlier))) <= kept]
        for change in differing[:1]:
            number = change.number or change.earlier
            print_note(f"--fork {kept}: request {number} is kept, but {change.what}. Pass --fork {number - 1}.")
        if differing or case.outcomes[1] != "passed":
            raise typer.Exit(ExitCode.FOUND)
    elif comparison.verdict == "worse":
        raise typer.Exit(ExitCode.FOUND)
    elif not comparison.cases and not comparison.clients:
        print_note("nothing was compared: the two runs have no case in common.")
        raise typer.Exit(ExitCode.NOTHING_JUDGED)


def _render_text(viewed: Viewed, options: ViewOptions) -> str:
    if options.case:
        return render_case(viewed.run, _find(viewed, options.case), options.tokens)
    return render_run(viewed.run, viewed.open, options.tokens)


def _only(viewed: Viewed, name: str) -> Viewed:
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
        which = suggest_name(name, ids or ["none"])
        if found:
            which = f"{len(found)} cases match: {', '.join(found[:3])}. Pass the whole name of one."
        raise ConfigError(f"--case {name}: {which}")
    case = viewed.open(found[0])
    assert case, "each row has its case"
    return case


def _write_test(viewed: Viewed, options: ViewOptions, file: Path) -> None:
    case = _find(viewed, options.case)
    if not case.exchanges:
        raise ConfigError(f"--write-test: {case.row.name} has no request to send again.")
    fork = None
    if options.fork is not None:
        fork = Fork(options.fork, options.model or "", _read_outputs(options.outputs or ()), options.prompt or "")
    _write(file, write_test(case, fork).encode())
    print_text(f"{file}: {case.row.name}")
    for missing in unwritable(case):
        print_note(f"the test has no {missing}.")


def _read_outputs(given: Sequence[str]) -> dict[str, str]:
    """Read the options `--tool-output` as outputs by the name of a tool or the id of a call."""
    outputs = dict[str, str]()
    for pair in given:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise typer.BadParameter(
                f"--tool-output {pair}: write NAME=TEXT, the tool or the id of a call and what it returns."
            )
        if name in outputs:
            raise typer.BadParameter(f"--tool-output {name} comes twice: pass it once, or name calls by their ids.")
        outputs[name] = text
    return outputs


def _write_page(viewed: Viewed, options: ViewOptions) -> None:
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


_SCRIPT = re.compile(r'<script type="text/plain" id="(run|case-\d+)">([^<]*)</script>')
_HEAD = 1 << 16
"""Bytes at the beginning of a JSON file that distinguish reports from recordings."""


@dataclass(frozen=True, slots=True)
class Viewed:
    """A run, and its cases in the form in which a page holds them."""

    run: Run
    texts: Sequence[str]

    def cases(self) -> Iterator[ShownCase]:
        """Parse the cases one after the other."""
        return (read_text(text, ShownCase) for text in self.texts)

    def open(self, id: str) -> ShownCase | None:
        """Parse the case with an id; None if the page does not contain it."""
        ids = [row.id for row in self.run.cases]
        index = ids.index(id) if id in ids else len(self.texts)
        return read_text(self.texts[index], ShownCase) if index < len(self.texts) else None


def read_viewed(paths: Sequence[Path]) -> Viewed:
    """Read a run, or everything at these paths as one run; ConfigError for a path that contains neither."""
    for path in paths:
        if not path.exists():
            raise ConfigError(
                f"{path}: no such file or folder. Pass a trace, a report, a recording, or a folder of them."
            )
    traces = list(list_traces(paths))
    if traces:
        return _read_traces(traces)
    if len(paths) == 1 and paths[0].is_file():
        path = paths[0]
        if path.suffix in (".html", ".htm"):
            return _read_page(path)
        if _is_report(path):
            return Viewed(*build_run(read_report(path)))
    return _read_recordings(paths)


def read_compared(paths: Sequence[Path], against: Path) -> Viewed:
    """Read a run and its differences from an earlier one.

    ConfigError like `read_viewed`, or if they cannot be compared.
    """
    places = (str(paths[0]) if len(paths) == 1 else "", str(against))
    return compare_viewed(read_viewed(paths), read_viewed([against]), str(against), places)


def compare_viewed(viewed: Viewed, earlier: Viewed, label: str, places: tuple[str, str] = ("", "")) -> Viewed:
    """Return a run with its differences from an earlier one, which `label` names; see `compare_runs`."""
    run = compare_runs(
        viewed.run, earlier.run, f"{label} ({earlier.run.commit})" if earlier.run.commit else label, places
    )
    comparison = run.comparison
    assert comparison, "a compared run has a comparison"
    opened = [(earlier.open(before), viewed.open(now)) for now, before in pair_cases(viewed.run, earlier.run, places)]
    comparison = replace(comparison, cases=[compare_cases(old, new) for old, new in opened if old and new])
    return replace(viewed, run=replace(run, comparison=replace(comparison, verdict=judge_comparison(comparison))))


def _read_traces(files: Sequence[Path]) -> Viewed:
    traces = [read_trace(file) for file in files]
    documented: dict[str, Documentation] = {}
    for trace in traces:
        documented |= trace.documented
    facts = replace(traces[0].facts, source="trace")
    run = assemble_run([trace.case.row for trace in traces], facts, documented=documented)
    return Viewed(run, [to_text(trace.case) for trace in traces])


def _read_page(path: Path) -> Viewed:
    try:
        scripts = dict(_SCRIPT.findall(read_bounded(path, RAISE_ADVICE).decode(errors="replace")))
        run = read_text(scripts["run"], Run) if "run" in scripts else None
    except (OSError, Malformed, ConfigError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(
            f"{path}: cannot be read: {why}. Pass a page that `--harness-report=FILE.html` wrote."
        ) from None
    if run is None:
        raise ConfigError(f"{path}: a page without a run. Pass a page that `--harness-report=FILE.html` wrote.")
    return Viewed(run, [scripts[f"case-{number}"] for number in range(len(run.cases)) if f"case-{number}" in scripts])


def _is_report(path: Path) -> bool:
    if ".json" not in path.suffixes:
        return False
    with suppress(OSError, EOFError, gzip.BadGzipFile):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as content:
            head = content.read(_HEAD)
        return b'"totals"' in head and b'"surface"' in head
    return False


def _read_recordings(paths: Sequence[Path]) -> Viewed:
    """Read recordings as `responses-harness verify` would show them in a page: judged by the contract."""
    with TemporaryDirectory(prefix="harness-view-") as folder:
        judging = JudgeOptions(make_observer=partial(CaseWriter, with_views=True, with_bodies=False))
        verify_recordings(list(paths), Path(folder), 1, judging)
        spools = sorted(Path(folder).glob(f"*{OBSERVER_SUFFIX}"), key=lambda spool: int(spool.stem))
        report: Report = load_report(spools, paths[0])
    if not any(case.exchanges for case in report.cases):
        named = ", ".join(map(str, paths))
        why = next((f" {finding.message}" for case in report.cases for finding in case.found), "")
        raise ConfigError(f"{named}: nothing to show: no trace (*{SUFFIX}), no report, no recording of this API.{why}")
    run, texts = build_run(replace(report, facts=RunFacts("recordings")))
    return Viewed(run, texts)


def plain_json(viewed: Viewed) -> bytes:
    """Encode a run with its cases as plain JSON."""
    return orjson.dumps({"run": viewed.run, "cases": list(viewed.cases())}, option=orjson.OPT_APPEND_NEWLINE)
