"""The pytest side of reports: `--harness-report=FILE`, `--harness-fail-under=PCT`, and the last line of a run.

Each test is told in the process that ran it, and travels to the one that reports with its last test report: so it is the
same with and without pytest-xdist. Without the options only the last line is prepared, and nothing is kept of exchanges.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness.core.errors import ConfigError
from harness.pytest_plugin.cassettes import CASSETTE_STASH_KEY
from harness.pytest_plugin.plugin import WORLD_STASH_KEY, read_marker_options
from harness.report.formats import ACTIONS_VARIABLE, CHECKOUT_VARIABLE, FORMATS, why_unwritable, write_report

if TYPE_CHECKING:
    from harness.analysis.loss import Lost
    from harness.cassettes.recording.vcr import CassetteSession
    from harness.report.model import Report, ReportCase, Totals
    from harness.world.world import World

_OUTCOMES_BY_SEVERITY = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")
"""Outcomes of the phases of a test, the one that counts last."""
_SUMMARY_ATTRIBUTE = "_harness_told"


class _TestProgress(NamedTuple):
    """How a test went so far: its outcome, its seconds, why it failed."""

    outcome: str = "passed"
    seconds: float = 0.0
    why: str = ""


_PROGRESS_STASH_KEY = pytest.StashKey[_TestProgress]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("responses-harness")
    group.addoption(
        "--harness-report",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help=f"write what the tests exchanged with the API, in the form of the suffix: {' '.join(FORMATS)}",
    )
    group.addoption(
        "--harness-fail-under",
        type=float,
        metavar="PCT",
        help="fail a run whose requests were held to less than so many per cent of the rules",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that cannot be followed before the first test runs."""
    for file in config.getoption("--harness-report"):
        if why := why_unwritable(file):
            raise pytest.UsageError(f"--harness-report={file}: {why}")
    least = config.getoption("--harness-fail-under")
    if least is not None and not 0 <= least <= 100:
        raise pytest.UsageError(f"--harness-fail-under={least:g}: give a number from 0 to 100.")
    config.pluginmanager.register(_Reporter(config), "harness-reporter")


class _Reporter:
    """What the tests of a run have told, by their ids; of one that ran again, its last run."""

    def __init__(self, config: pytest.Config) -> None:
        self.files = [config.invocation_params.dir / file for file in config.getoption("--harness-report")]
        self.least: float | None = config.getoption("--harness-fail-under")
        self.whole = bool(self.files) or ACTIONS_VARIABLE in os.environ
        self.passes_on = hasattr(config, "workerinput")
        self.told: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note how a test goes; at its end, tell all of it."""
        world, taped = item.stash.get(WORLD_STASH_KEY, None), item.stash.get(CASSETTE_STASH_KEY, None)
        report = yield
        item.stash[_PROGRESS_STASH_KEY] = so = _add_phase(
            item.stash.get(_PROGRESS_STASH_KEY, _TestProgress()) if report.when != "setup" else _TestProgress(),
            report,
            call,
        )
        broken = so.outcome == "error" and item.get_closest_marker("cassette") is not None
        if report.when == "teardown" and (world or taped or broken):
            judged = world is not None or so.outcome != "passed"
            with suppress(ConfigError):  # a marker that does not fit has failed its test
                setattr(
                    report,
                    _SUMMARY_ATTRIBUTE,
                    _summarize_test(item, so, world or _cassette_journal(taped), self.whole, judged),
                )
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test told, before anybody else writes the test report down."""
        if not self.passes_on and (told := report.__dict__.pop(_SUMMARY_ATTRIBUTE, None)):
            self.told[report.nodeid] = told

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail a run that touches too little."""
        if self.passes_on:
            return
        for file in self.files:
            self._write_file(file)
        if self.least is not None and self.told:
            self._check_coverage(self.least)
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The last line, what stands in the way of the reports, and annotations where somebody reads them."""
        if self.told and (totals := self._sum_totals()).exchanges:
            from harness.report.model import summary_line

            terminalreporter.write_line(summary_line(totals, self._build_report().percent_covered("rules")))
        for problem in self.problems:
            terminalreporter.write_line(problem, red=True)
        if self.told and ACTIONS_VARIABLE in os.environ:
            from harness.report.formats.github import annotation_commands

            for command in annotation_commands(self._build_report()):
                terminalreporter.write_line(command)

    def _write_file(self, file: Path) -> None:
        try:
            write_report(self._build_report(), file, file.suffix)
        except ConfigError as problem:
            self.problems.append(str(problem))

    def _check_coverage(self, least: float) -> None:
        from harness.report.coverage import has_coverage

        report = self._build_report()
        if not has_coverage(report.hit["rules"], report.known["rules"], least):
            touched = f"{len(report.hit['rules'])} of {len(report.known['rules'])}"
            self.problems.append(
                f"--harness-fail-under={least:g}: only {touched} rules, {report.percent_covered('rules')} %"
            )

    def _sum_totals(self) -> Totals:
        from harness.report.model import Totals

        return Totals(*map(sum, zip(*(told["totals"] for told in self.told.values()), strict=True)))

    def _build_report(self) -> Report:
        from harness.report.coverage import merge_coverage
        from harness.report.model import Report, ReportCase

        every = self.told.values()
        hit = merge_coverage({name: frozenset(names) for name, names in told["hits"].items()} for told in every)
        return Report([ReportCase.from_json(told["trial"]) for told in every if "trial" in told], hit=hit)


def _add_phase(so: _TestProgress, report: pytest.TestReport, call: pytest.CallInfo[None]) -> _TestProgress:
    """How a test goes after one more phase of it."""
    expected = hasattr(report, "wasxfail")
    outcome: str = report.outcome
    if report.when != "call" and report.failed:
        outcome = "error"
    elif expected:
        outcome = "xfailed" if report.skipped else "xpassed"
    why = call.excinfo.exconly() if call.excinfo and report.failed else ""
    return _TestProgress(
        max(so.outcome, outcome, key=_OUTCOMES_BY_SEVERITY.index), so.seconds + report.duration, so.why or why
    )


def _cassette_journal(taped: CassetteSession | None) -> World:
    """What a test asked of its cassette, as a World would have it."""
    from harness.verify.judging.to_journal import build_journal

    return build_journal(taped.interactions if taped else ())


def _summarize_test(item: pytest.Item, so: _TestProgress, world: World, whole: bool, judged: bool) -> dict[str, Any]:
    """A test in plain values, which every worker of pytest-xdist can send: totals, what it touched, if `whole` all of it.

    `judged` says whether losses fail it.
    """
    from harness.analysis.loss import losses_of
    from harness.report import model
    from harness.report.coverage import measure_coverage

    chosen, exchanges = read_marker_options(item), world.exchanges
    losses = losses_of(exchanges, strict=chosen["losses"] == "strict")
    allowed = _allowed_ids(chosen, losses)
    told: dict[str, Any] = {
        "hits": {name: sorted(touched) for name, touched in measure_coverage(exchanges, world).items()}
    }
    if whole:
        trial = model.fill_case(_new_case(item, so), world, losses, allowed, judged=judged)
        found, told["trial"] = trial.found, trial.to_json()
    else:
        passed = so.outcome in model.PASSED_OUTCOMES
        found = model.collect_findings(world, exchanges, losses, passed, allowed, judged=judged)
    return {"totals": list(model.count_totals(len(exchanges), found)), **told}


def _allowed_ids(chosen: dict[str, Any], losses: list[Lost]) -> set[str]:
    """What the markers of a test allow: ids of losses, `unused`."""
    wanted = chosen["losses"]
    allowed = {lost.loss for lost in losses} if wanted == "allow" else set(wanted if isinstance(wanted, list) else ())
    return allowed | ({"unused"} if chosen["unused"] == "allow" else set())


def _new_case(item: pytest.Item, so: _TestProgress) -> ReportCase:
    from harness.report.model import ReportCase

    file, line, _ = item.location
    placed = f"{_checkout_prefix(item.config.rootpath)}{Path(file).as_posix()}"
    return ReportCase(item.nodeid, placed, (line or 0) + 1, so.outcome, round(so.seconds, 4), why=so.why)


def _checkout_prefix(root: Path) -> str:
    """How to get from the checkout down to the root of the run: empty, or a path that ends with a slash."""
    checkout = os.environ.get(CHECKOUT_VARIABLE)
    inside = root.relative_to(checkout).as_posix() if checkout and root.is_relative_to(checkout) else "."
    return "" if inside == "." else f"{inside}/"
