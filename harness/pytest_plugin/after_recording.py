"""Finishes the cassettes of a `pytest --record` run at its end.

Exchanges that no test replays are removed: a cassette is pruned if all tests that name it have run and passed;
otherwise the reason why it was kept is printed. Also offers to learn where the live API and the mock disagree.

Each test's last report carries which exchanges of its cassette it used, and what was recovered of a run that died, so that
it works the same with pytest-xdist.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HarnessError
from harness.pytest_plugin.cassettes import CASSETTE_STASH_KEY, cassette_path

_USE_ATTRIBUTE = "_harness_cassette_use"
_DESELECTED_STASH_KEY = pytest.StashKey[set[str]]()
_PASSED_STASH_KEY = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Watch a run that records."""
    if config.getoption("--record") is not None:
        config.stash[_DESELECTED_STASH_KEY] = set()
        config.pluginmanager.register(_Recorded(config), "harness-recorded")


class _Recorded:
    """The uses of each cassette in a run, by test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._uses: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._said: list[str] = []
        self._recorded: Counter[str] = Counter()

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._config.stash[_DESELECTED_STASH_KEY].update(filter(None, map(_cassette_of, items)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the use of its cassette to the last report of a test."""
        session = item.stash.get(CASSETTE_STASH_KEY, None)
        report = yield
        if report.when == "call" and session and session.mode != "replay":
            # An expected failure passes, but has not sent everything that a working test sends.
            item.stash[_PASSED_STASH_KEY] = report.passed and not hasattr(report, "wasxfail")
        if report.when == "teardown" and session and session.mode != "replay":
            siblings = [test for test in item.session.items if _cassette_of(test) == str(session.path)]
            use = {
                "cassette": str(session.path),
                "used": session.used_numbers,
                "recorded": session.recorded_count,
                "passed": report.passed and item.stash.get(_PASSED_STASH_KEY, False),
                "tests": [test.nodeid for test in siblings],
                "marks": sorted({_marked_place(test) for test in siblings}),
                "recovered": str(session.recorder.recovered or "") if session.recorder else "",
                "narrowed": str(session.path) in self._config.stash[_DESELECTED_STASH_KEY],
            }
            setattr(report, _USE_ATTRIBUTE, use)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not hasattr(self._config, "workerinput") and (use := report.__dict__.pop(_USE_ATTRIBUTE, None)):
            self._uses[use["cassette"]][report.nodeid] = use
            if use["recorded"] and use["passed"]:
                self._recorded[use["cassette"]] += use["recorded"]
            if recovered := use["recovered"]:
                self._said.append(recovered.replace(f"{self._config.rootpath.as_posix()}/", ""))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        for cassette, uses in self._uses.items():
            try:
                self._said.extend(self._prune(Path(cassette), uses))
            except HarnessError as problem:
                self._said.append(f"not pruned: {problem}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print where cassettes contradict the mock and how to learn from them, what was recovered, pruned, kept."""
        from harness.core.text import pluralize
        from harness.overrides.offer import offer_learning

        written = [file for cassette in self._uses if (file := Path(cassette)).exists()]
        for cassette, number in self._recorded.items():
            name = Path(os.path.relpath(cassette, self._config.rootpath)).as_posix()
            terminalreporter.write_line(f"{pluralize(number, 'exchange')} recorded in {name}")
        for line in [*(offer_learning(written, self._config.rootpath) if written else ()), *self._said]:
            terminalreporter.write_line(line)

    def _prune(self, path: Path, uses: dict[str, dict[str, Any]]) -> Iterator[str]:
        from harness.cassettes.files import count_unused, prune_cassette
        from harness.core.text import pluralize

        used = {number for use in uses.values() if use["passed"] for number in use["used"]}
        if not path.exists() or not (unused := count_unused(path, used)):
            return
        # The folder of cassettes may be outside the project.
        exchanges, name = pluralize(unused, "exchange"), Path(os.path.relpath(path, self._config.rootpath)).as_posix()
        if why := self._explain_kept(path, uses, used):
            yield f"{name}: {exchanges} that this run did not use {'stays' if unused == 1 else 'stay'} there: {why}"
        else:
            prune_cassette(path, used)
            yield f"{name}: {exchanges} removed that no test replays any more"

    def _explain_kept(self, path: Path, uses: dict[str, dict[str, Any]], used: set[int]) -> str:
        """Return why unused exchanges may still be needed; empty if they are dead."""
        from harness.pytest_plugin.unplayed import ProjectSources

        passed = {nodeid for nodeid, use in uses.items() if use["passed"]}
        known = {nodeid for use in uses.values() for nodeid in use["tests"]} | uses.keys()
        marks = {nodeid for use in uses.values() for nodeid in use["marks"]}
        # A test selected by its id may leave out others that share the cassette.
        chosen = any("::" in test and test.partition("[")[0] not in marks for test in self._config.args)
        if missing := sorted(known - passed):
            return f"{missing[0]} did not pass"
        if chosen or any(use["narrowed"] for use in uses.values()) or any("[" in test for test in self._config.args):
            return "not all tests of this cassette were selected"
        sources = ProjectSources(self._config.rootpath)
        if sources.count_marks(path) > len(marks):
            return "another test, which did not run, names this cassette"
        if sources.is_named_elsewhere(path):
            return "the sources name this cassette elsewhere, too"
        return "" if used else "the tests sent no request"


def _marked_place(item: pytest.Item) -> str:
    """Return the id of the function, class or module that carries the marker of a test."""
    return next(node.nodeid.partition("[")[0] for node, _ in item.iter_markers_with_node("cassette"))


def _cassette_of(item: pytest.Item) -> str:
    """Return the file of the cassette that a test's marker names; empty without a marker."""
    marker = item.get_closest_marker("cassette")
    if marker is None or not marker.args:
        return ""
    try:
        return str(cassette_path(item.config, marker.args[0]))
    except (HarnessError, TypeError, AttributeError):  # an invalid marker fails its test
        return ""
