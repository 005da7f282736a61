"""`responses-harness verify`: judges recordings or a server by the contract."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NoReturn

import typer
from orjson import OPT_INDENT_2, dumps

from harness.cassettes.format.untrusted import NotARecording
from harness.cli.program import (
    ExitCode,
    Options,
    argument,
    make_console,
    option,
    print_json,
    print_note,
    print_text,
    progress,
)
from harness.core.errors import COMMAND
from harness.live.conformance import score as score_output
from harness.live.conformance.examine_server import examine_server
from harness.live.conformance.questions import DEFAULT_MODEL
from harness.live.paced import UpstreamError
from harness.overrides.project_file import find_unused, load_overrides
from harness.report.forecast import Outlook, outlook_lines
from harness.report.formats import FORMATS, check_writable, is_page, write_report
from harness.report.replace_file import explain_write_errors, open_replacement
from harness.report.report import OUTLOOK_KINDS, Report
from harness.verify import output
from harness.verify.examples import EXAMPLE_KEY
from harness.verify.judge_files import OBSERVER_SUFFIX, JudgeObserver, JudgeOptions, Tally, verify_recordings
from harness.verify.judging.circumstances import parse_host
from harness.verify.output import explain_bare_paths, explain_missing_hosts, explain_nothing_judged
from harness.verify.report_cases import CaseWriter, load_report
from harness.viewer.build_run import collect_facts

SERVER_OPTIONS = frozenset({"server", "model", "key_env", "timeout", "jobs", "as_json"})
RECORDING_OPTIONS = frozenset({"paths", "jobs", "as_json"})


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """The options of `responses-harness verify`."""

    paths: list[Path] | None = argument(None, "Recordings, or folders of them.", metavar="PATH")
    server: str = option("", "Instead of recordings: the base URL of a server.", metavar="URL")
    model: str = option("", "With --server: the model to request.")
    key_env: str = option("", "With --server: the variable that contains its key.", metavar="NAME")
    timeout: float = option(30.0, "With --server: the timeout for an answer, in seconds.", min=0.1)
    as_json: Path | None = option(None, "Write the whole report; - is stdout.", "--json", metavar="FILE")
    reports: list[Path] | None = option(
        None, f"For recordings: write a report; {' '.join(FORMATS)}.", "--report", metavar="FILE"
    )
    jobs: int | None = option(
        None,
        "Files to judge, or requests to send, in parallel.",
        min=1,
        show_default="one file per CPU, 1 request",
    )
    host: list[str] | None = option(
        None, "For recordings: the host of a gateway to the API; repeatable.", metavar="HOST"
    )
    contract: Path | None = option(None, f"For recordings: overrides written by `{COMMAND} learn`.", metavar="FILE")
    forecast: str = option(
        "", "For recordings: list the models that will be gone by a day, or by any announced day.", metavar="DATE|all"
    )
    as_model: str = option("", "For recordings: judge each request as if it named this model.", metavar="NAME")
    verbose: bool = option(False, "List the files that are not recordings.", "--verbose", "-v")
    respell: bool = option(False, "Also script the mock with the content of each answer, and compare both.")


def verify(options: VerifyOptions) -> None:
    """Judge recordings, or with --server a server, by the contract.

    Recordings are cassettes (of vcrpy and others), HAR and JSON lines.

    Would the mock accept what the API accepted, and refuse the rest with the same error? Do answers and streams conform?
    A server is sent the examples of the rules and some scenarios: each of its answers costs a run of the model.
    """
    if bool(options.paths) == bool(options.server):
        raise typer.BadParameter("pass recordings, or --server URL.")
    if options.server:
        options.refuse_others(SERVER_OPTIONS, "--server cannot be combined with options for recordings")
        _verify_server(options)
        return
    if options.given.keys() & (SERVER_OPTIONS - RECORDING_OPTIONS):
        raise typer.BadParameter("--model, --key-env and --timeout need --server.")
    _verify_recordings(options)


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _verify_recordings(options: VerifyOptions) -> None:
    paths, as_json, reports = options.paths or [], options.as_json, options.reports or []
    gateways, overrides = [parse_host(text) for text in options.host or []], load_overrides(options.contract, Path())
    outlook = Outlook.parse(options.forecast, options.as_model, "--forecast")
    judging = JudgeOptions(gateways, options.respell, overrides, _case_collector(reports, outlook))
    began = time.time()
    with TemporaryDirectory(prefix="harness-verify-") as folder:
        with progress("judging") as advance:
            tally = verify_recordings(
                paths, Path(folder), options.jobs or _count_processors(), judging, progress=advance
            )
        why = _explain_gaps(tally, gateways)
        report = _load_report(Path(folder), paths[0], why, began) if reports or outlook else None
        for file in reports:
            write_report(report, file, file.suffix)
        _print_tally(tally, as_json, why, options.verbose)
        ahead = _print_outlook(report, as_json) if outlook and report else False
        if overrides and as_json != Path("-"):
            for line in find_unused(overrides, tally.applied, tally.judged_files):
                print_text(line)
    _exit_by(tally, why, ahead=ahead)


def _print_outlook(report: Report, as_json: Path | None) -> bool:
    """Print what becomes of the requests, unless JSON is printed; return whether any will not be accepted."""
    lines = outlook_lines(
        (case.id, (finding for finding in case.found if finding.kind in OUTLOOK_KINDS)) for case in report.cases
    )
    for line in lines if as_json != Path("-") else ():
        print_text(line)
    return any(
        finding.kind in OUTLOOK_KINDS and not finding.expected for case in report.cases for finding in case.found
    )


def _explain_gaps(tally: Tally, gateways: list[str]) -> str:
    """Explain why nothing was judged, or nothing at a path or host that was named; empty if something was."""
    nothing = explain_nothing_judged(tally) if tally.is_clean else ""
    return explain_missing_hosts(tally, gateways) or nothing or explain_bare_paths(tally)


def _exit_by(tally: Tally, why: str, *, ahead: bool) -> NoReturn:
    if not why:
        raise typer.Exit(ExitCode.FOUND if ahead or not tally.is_clean else ExitCode.OK)
    if tally.is_clean:
        raise NotARecording(why)
    print_note(why)
    raise typer.Exit(ExitCode.FOUND)


def _case_collector(reports: list[Path], outlook: Outlook) -> Callable[[Path, Path], JudgeObserver] | None:
    """Create the observer that collects the cases for reports and the outlook, if any are wanted.

    ConfigError for an unwritable file.
    """
    if not reports and not outlook:
        return None
    check_writable(reports)
    pages = list(map(is_page, reports))
    return partial(CaseWriter, with_views=any(pages), outlook=outlook, with_bodies=not all(pages))


def _load_report(folder: Path, recordings: Path, nothing_judged: str, began: float) -> Report:
    spools = sorted(folder.glob(f"*{OBSERVER_SUFFIX}"), key=lambda spool: int(spool.stem))
    report = load_report(spools, recordings, nothing_judged)
    return replace(report, facts=collect_facts("verify", Path(), began, time.time() - began))


def _print_tally(tally: Tally, as_json: Path | None, nothing_judged: str, verbose: bool) -> None:
    if as_json == Path("-"):
        output.write_json(tally, spool := BytesIO(), nothing_judged)
        print_text(spool.getvalue().decode(), newline=False)
        return
    if as_json is not None:
        with _open_output(as_json) as out:
            output.write_json(tally, out, nothing_judged)
    console = make_console()
    console.print(output.counts_table(tally))
    for text in output.summary_lines(tally, verbose):
        console.print(text)


def _verify_server(options: VerifyOptions) -> None:
    as_json = options.as_json
    key = _server_key(options.key_env) if options.key_env else EXAMPLE_KEY
    with progress("asking") as advance:
        score = examine_server(
            options.server,
            model=options.model or DEFAULT_MODEL,
            key=key,
            timeout=options.timeout,
            jobs=options.jobs or 1,
            progress=advance,
        )
    if as_json is not None:
        _write_json(score_output.score_json(score, key), as_json)
    if as_json != Path("-"):
        console = make_console()
        console.print(score_output.score_table(score))
        for text in score_output.summary_lines(score, key):
            console.print(text)
    if not score.is_clean:
        raise typer.Exit(ExitCode.FOUND)
    if why := score_output.explain_nothing_asked(score):
        raise UpstreamError(why)


def _server_key(name: str) -> str:
    if not (key := os.environ.get(name, "").strip()):
        raise UpstreamError(f"--key-env {name}: the variable is not set. Set it to the key of the server.")
    return key


def _write_json(document: Any, file: Path) -> None:
    if file == Path("-"):
        print_json(document)
        return
    with _open_output(file) as out:
        out.write(dumps(document, option=OPT_INDENT_2) + b"\n")


@contextmanager
def _open_output(file: Path) -> Iterator[IO[bytes]]:
    with explain_write_errors(str(file), "Pass another file to --json"), open_replacement(file) as out:
        yield out
