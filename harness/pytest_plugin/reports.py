"""Reports of a pytest run: `--harness-report=FILE`, `--harness-fail-under=PCT`, and the last line of a run.

Each test is summarized in the process that ran it; the summary is attached to the test's last report, so that it works
the same with pytest-xdist. Without the options a summary holds no exchanges.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import Lost
from harness.core.errors import ConfigError, add_section
from harness.core.exchange import Json
from harness.core.text import pluralize
from harness.explain.cause import ReportFinding
from harness.explain.find_causes import collect_findings
from harness.explain.turn import stray_cause, stray_finding
from harness.pytest_plugin.cassettes import CASSETTE_STASH_KEY
from harness.pytest_plugin.causes import cause_of_error, causes_of, note_causes
from harness.pytest_plugin.late_requests import late_requests, new_case
from harness.pytest_plugin.marks import read_marker_options
from harness.pytest_plugin.options import RECORD_MODES, WORLD_STASH_KEY, uses_harness
from harness.pytest_plugin.outcome import find_losses, sent_nothing
from harness.pytest_plugin.traces import CAPTURED_STASH_KEY, PROBLEM, TraceWriter, show_test
from harness.report.api_coverage import has_coverage, measure_coverage, merge_coverage
from harness.report.fill_case import fill_case
from harness.report.forecast import Outlook, outlook_lines
from harness.report.formats import ACTIONS_VARIABLE, is_page, why_unwritable, write_report
from harness.report.formats.github import annotation_commands
from harness.report.report import (
    PASSED_OUTCOMES,
    Report,
    ReportCase,
    RunFacts,
    Totals,
    UnknownModels,
    count_totals,
    count_unknown_models,
    merge_unknown_models,
    sanitize_reason,
    summary_line,
    unknown_model_lines,
)
from harness.world.world import World

if TYPE_CHECKING:
    from harness.cassettes.recording.vcr import CassetteSession

_OUTCOMES_BY_SEVERITY = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")
"""The outcomes of a test's phases, the most severe last."""
_SUMMARY_ATTRIBUTE = "_harness_summary"
MAX_CAPTURED = 20_000
"""Characters of each captured text that the page of a report keeps, the last ones."""
_SILENT, _MAX_SILENT = "silent", 5
"""The member of a summary of a test that sent nothing, and how many of these tests the last lines name."""


class _TestProgress(NamedTuple):
    """The outcome of a test so far, its duration in seconds, and why it failed."""

    outcome: str = "passed"
    seconds: float = 0.0
    why: str = ""


_PROGRESS_STASH_KEY = pytest.StashKey[_TestProgress]()
_AHEAD = "ahead"
"""The member of a summary with what becomes of a test's requests."""


def make_reporter(config: pytest.Config) -> _Reporter:
    """Make what reports a run; UsageError for an invalid option."""
    try:
        _check_options(config)
        return _Reporter(config, _read_outlook(config))
    except ConfigError as problem:
        raise pytest.UsageError(add_section(str(problem), "options-and-files")) from None


def _check_options(config: pytest.Config) -> None:
    for file in config.getoption("--harness-report"):
        if why := why_unwritable(file):
            raise ConfigError(f"--harness-report={file}: {why}")
    mode, least = config.getoption("--record"), config.getoption("--harness-fail-under")
    if mode is not None and mode not in RECORD_MODES:
        raise ConfigError(f"--record={mode}: use one of {', '.join(RECORD_MODES)}; alone it means new.")
    if least is not None and not 0 <= least <= 100:
        raise ConfigError(f"--harness-fail-under={least:g}: pass a number from 0 to 100.")


def _read_outlook(config: pytest.Config) -> Outlook | None:
    """Read what is asked about later; None if nothing is. ConfigError for no day."""
    by, model = config.getoption("--harness-forecast"), config.getoption("--harness-model")
    if not by and not model:
        return None
    return Outlook.parse(by, model, "--harness-forecast")


def _row_of(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a test in the page of a report; empty if no page is written."""
    row: dict[str, Any] = summary.get("case", {}).get("view", {}).get("row", {})
    return row


class _Reporter:
    """The summaries of a run's tests by id; for a test that was run again, the last one."""

    def __init__(self, config: pytest.Config, outlook: Outlook | None) -> None:
        self.files = [config.invocation_params.dir / file for file in config.getoption("--harness-report")]
        self.plugins = config.pluginmanager
        self.outlook = outlook
        self.least: float | None = config.getoption("--harness-fail-under")
        self.with_exchanges = bool(self.files) or ACTIONS_VARIABLE in os.environ
        self.with_views = any(map(is_page, self.files))
        self.traces = TraceWriter(config)
        self.is_worker = hasattr(config, "workerinput")
        self.late = late_requests(config)
        self.summaries: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record the outcome of a phase; after teardown, attach the summary of the test."""
        world, cassette = item.stash.get(WORLD_STASH_KEY, None), item.stash.get(CASSETTE_STASH_KEY, None)
        report = yield
        before = _TestProgress() if report.when == "setup" else item.stash.get(_PROGRESS_STASH_KEY, _TestProgress())
        item.stash[_PROGRESS_STASH_KEY] = progress = _add_phase(before, report, call)
        if report.failed and call.excinfo and uses_harness(item):
            note_causes(item, causes_of(item) or [cause_of_error(item, call.excinfo.value)])
        if report.when == "teardown" and (world or cassette or causes_of(item)):
            judged = world is not None or progress.outcome != "passed"
            item.stash[CAPTURED_STASH_KEY] = [
                (title, text[-MAX_CAPTURED:]) for title, text in report.sections if title.startswith("Captured ")
            ]
            summary = self._summarize(item, progress, world or _cassette_journal(cassette), judged)
            if world and not cassette and progress.outcome == "passed" and sent_nothing(item, world):
                summary[_SILENT] = True
            setattr(report, _SUMMARY_ATTRIBUTE, summary)
        return report

    def _summarize(self, item: pytest.Item, progress: _TestProgress, world: World, judged: bool) -> dict[str, Any]:
        traced = self.traces.wants(progress.outcome)
        summary, case = _summarize_test(item, progress, world, self.with_exchanges or traced, judged)
        if self.outlook:
            ahead = _look_ahead(self.outlook, world)
            summary[_AHEAD] = [asdict(finding) for finding in ahead]
            case = case and replace(case, found=[*case.found, *ahead])
        if not traced or case is None:
            self.traces.remove(item)
        else:
            summary |= self.traces.write(item, case, world)
        if case is None or not self.with_exchanges:
            return summary
        if self.with_views:
            from harness.viewer.build_run import view_of_case

            case = replace(case, view=view_of_case(show_test(item, case, world)))
        return {**summary, "case": case.to_json()}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remove the summary from the test report before other plugins serialize the report."""
        if not self.is_worker and (summary := report.__dict__.pop(_SUMMARY_ATTRIBUTE, None)):
            if (earlier := _row_of(self.summaries.get(report.nodeid, {}))) and (row := _row_of(summary)):
                row["retries"] = earlier["retries"] + 1
            self.summaries[report.nodeid] = summary

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail a run that covers too few rules; late requests are known by now."""
        if self.is_worker:
            return
        self.summaries |= {f"late {number}": _summarize_late(case) for number, case in enumerate(self.late.cases)}
        for file in self.files:
            self._write_file(file)
        self.problems += dict.fromkeys(summary[PROBLEM] for summary in self.summaries.values() if PROBLEM in summary)
        if any(not finding["expected"] for summary in self.summaries.values() for finding in summary.get(_AHEAD, ())):
            self.problems.append("Requests of these tests will not be accepted: see the lines above.")
        if self.least is not None and self.summaries:
            self._check_coverage(self.least)
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the last line, problems with the reports, and annotations in GitHub Actions."""
        totals = self._sum_totals() if self.summaries else None
        if totals and (totals.exchanges or totals.unexpected):
            for line in unknown_model_lines(self._sum_unknown_models()):
                terminalreporter.write_line(line)
            terminalreporter.write_line(summary_line(totals))
        if silent := [test for test, summary in self.summaries.items() if _SILENT in summary]:
            named = ", ".join([*silent[:_MAX_SILENT], *(["…"] if silent[_MAX_SILENT:] else [])])
            terminalreporter.write_line(
                f"{pluralize(len(silent), 'test')} asked for `mock` but sent it no request: {named}"
            )
        for line in self._list_outlook():
            terminalreporter.write_line(line)
        for line in self.traces.list_lines([*self.summaries.values()]):
            terminalreporter.write_line(line)
        for problem in self.problems:
            terminalreporter.write_line(problem, red=True)
        if self.summaries and ACTIONS_VARIABLE in os.environ:
            for command in annotation_commands(self._build_report()):
                terminalreporter.write_line(command)

    def _list_outlook(self) -> list[str]:
        if not self.outlook:
            return []
        ahead = {test: summary.get(_AHEAD, ()) for test, summary in self.summaries.items()}
        return outlook_lines(
            (test, [ReportFinding(**finding) for finding in findings]) for test, findings in ahead.items()
        )

    def _write_file(self, file: Path) -> None:
        try:
            write_report(self._build_report(), file, file.suffix)
        except ConfigError as problem:
            self.problems.append(str(problem))

    def _check_coverage(self, least: float) -> None:
        report = self._build_report()
        if not has_coverage(report.hit["rules"], report.known["rules"], least):
            touched = f"{len(report.hit['rules'])} of {len(report.known['rules'])}"
            self.problems.append(
                f"--harness-fail-under={least:g}: only {touched} rules, {report.percent_covered('rules')} %"
            )

    def _sum_totals(self) -> Totals:
        return Totals(*map(sum, zip(*(summary["totals"] for summary in self.summaries.values()), strict=True)))

    def _sum_unknown_models(self) -> UnknownModels:
        return merge_unknown_models(summary["unknown_models"] for summary in self.summaries.values())

    def _build_report(self) -> Report:
        summaries = self.summaries.values()
        hit = merge_coverage(
            {name: frozenset(names) for name, names in summary["hits"].items()} for summary in summaries
        )
        cases = [ReportCase.from_json(summary["case"]) for summary in summaries if "case" in summary]
        facts = self.traces.collect_facts("pytest") if self.with_views else RunFacts()
        facts = replace(facts, outcomes=self._count_outcomes())
        return Report(cases, hit=hit, unknown_models=self._sum_unknown_models(), facts=facts)

    def _count_outcomes(self) -> Counter[str]:
        """Count tests by outcome as pytest's last line does, plus late requests.

        Empty if there is no terminal reporter.
        """
        terminal = self.plugins.get_plugin("terminalreporter")
        if terminal is None:
            return Counter()
        counts = {name: len(terminal.stats.get(name, ())) for name in _OUTCOMES_BY_SEVERITY}
        return +Counter(counts) + Counter(case["outcome"] for case in self.late.cases)


def _add_phase(progress: _TestProgress, report: pytest.TestReport, call: pytest.CallInfo[None]) -> _TestProgress:
    expected = hasattr(report, "wasxfail")
    outcome: str = report.outcome
    if outcome == progress.outcome == "passed" and not expected:
        return progress._replace(seconds=progress.seconds + report.duration)
    if report.when != "call" and report.failed:
        outcome = "error"
    elif expected:
        outcome = "xfailed" if report.skipped else "xpassed"
    why = call.excinfo.exconly() if call.excinfo and report.failed else ""
    return _TestProgress(
        max(progress.outcome, outcome, key=_OUTCOMES_BY_SEVERITY.index),
        progress.seconds + report.duration,
        progress.why or why,
    )


def _cassette_journal(cassette: CassetteSession | None) -> World:
    from harness.verify.report_cases import build_journal

    return build_journal(cassette.interactions if cassette else ())


def _summarize_test(
    item: pytest.Item, progress: _TestProgress, world: World, with_exchanges: bool, judged: bool
) -> tuple[dict[str, Any], ReportCase | None]:
    """Summarize a test as plain values that pytest-xdist can send, with totals and coverage.

    Its case if `with_exchanges`.

    `judged` says whether losses fail the test.
    """
    options, exchanges = {"losses": "fail", "unused": "fail"}, world.exchanges
    with suppress(ConfigError):  # an invalid marker has failed its test already
        options = read_marker_options(item)
    losses = find_losses(item, world, options["losses"] == "strict")
    allowed = _allowed_ids(options, losses)
    summary: dict[str, Any] = {
        "hits": {name: sorted(touched) for name, touched in measure_coverage(exchanges, world).items()},
        "unknown_models": dict(count_unknown_models(world)),
    }
    passed = progress.outcome in PASSED_OUTCOMES
    strays = [] if passed else _stray_findings(world)
    case = None
    if with_exchanges:
        new = new_case(item, progress.outcome, progress.seconds, why=progress.why, explained=causes_of(item))
        case = fill_case(new, world, losses, allowed, judged=judged)
        case = replace(case, found=[*case.found, *strays])
        found = list(case.found)
    else:
        found = [*collect_findings(world, exchanges, losses, passed, allowed, judged=judged), *strays]
    routed = sum(exchange.is_routed for exchange in exchanges)
    return {"totals": list(count_totals(len(exchanges), found, routed)), **summary}, case


def _look_ahead(outlook: Outlook, world: World) -> list[ReportFinding]:
    """Return what becomes of a test's accepted requests, each finding once."""
    findings = (
        finding
        for exchange in world.exchanges
        if exchange.status < 300 and not exchange.is_routed
        for finding in outlook.findings(exchange.request, world, exchange.number)
    )
    first = {(finding.message, finding.fix): finding for finding in reversed(list(findings))}
    return [sanitize_reason(finding) for finding in reversed(first.values())]


def _stray_findings(world: World) -> list[ReportFinding]:
    """Return the finding for requests that came with keys of no test while a test ran; empty if there were none."""
    if not world.refusals.unexpected_strays:
        return []
    return [sanitize_reason(stray_finding(stray_cause(world), world.strays[-1][1]))]


def _summarize_late(case: Json) -> dict[str, Any]:
    """Summarize a case of late requests in the form of a test's summary."""
    return {"totals": count_totals(0, ReportCase.from_json(case).found), "hits": {}, "unknown_models": {}, "case": case}


def _allowed_ids(options: dict[str, Any], losses: list[Lost]) -> set[str]:
    """Return what the markers of a test allow: ids of losses, and `unused`."""
    losses_option = options["losses"]
    allowed = (
        {lost.loss for lost in losses}
        if losses_option == "allow"
        else set(losses_option if isinstance(losses_option, list) else ())
    )
    return allowed | ({"unused"} if options["unused"] == "allow" else set())
