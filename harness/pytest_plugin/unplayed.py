"""Exchanges of cassettes that no test replays: each fails its test, and `pytest --record` removes it.

A recorded cassette is pruned if all tests that name it have run and passed; otherwise the reason why it was kept is
printed. Such a run also offers to learn where the live API and the mock disagree. Each test's last report carries which
exchanges of its cassette it used, and what was recovered of a run that died, so that it works the same with pytest-xdist.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.cassettes.files import count_unused, prune_cassette
from harness.cassettes.format.interaction import Interaction
from harness.core.advice_wording import PYTHON
from harness.core.cached import cached_property
from harness.core.errors import HarnessError
from harness.core.text import pluralize
from harness.explain.cause import Cause
from harness.pytest_plugin.cassettes import CASSETTE_STASH_KEY, cassette_path
from harness.pytest_plugin.causes import fail_for
from harness.pytest_plugin.marks import read_marker_options

if TYPE_CHECKING:
    from pluggy import Result

    from harness.cassettes.recording.vcr import CassetteSession

MAX_UNPLAYED = 6
"""How many exchanges are listed at most."""
_SOURCES_STASH_KEY = pytest.StashKey["ProjectSources"]()
NO_REQUEST_FIX = (
    "The code under test must use the fixture `client`, or create its client while the test runs; or remove the marker."
)


def judge_unplayed(item: pytest.Item, outcome: Result[None]) -> None:
    """Fail a passing test that left exchanges of its cassette unplayed."""
    session = item.stash.get(CASSETTE_STASH_KEY, None)
    if session and not outcome.exception and (left := _find_unplayed(item, session)):
        fail_for(item, left)


def _find_unplayed(item: pytest.Item, session: CassetteSession) -> Cause | None:
    """Explain which exchanges a test left unplayed: all of its cassette, or a part that no other test replays.

    Else None.

    A cassette shared by several tests may hold more than one of them requests, and the marker of a module or class also
    applies to tests that send no requests.
    """
    total, used = session.exchange_count, len(session.used_numbers)
    if session.mode != "replay" or used == total or not _is_marked_itself(item):
        return None
    if read_marker_options(item)["unused"] == "allow" or (used and not _is_of_this_test_alone(item, session.path)):
        return None
    name = Path(os.path.relpath(session.path, item.config.rootpath)).as_posix()
    left = total - used
    where, allow = _list(session.find_unplayed(MAX_UNPLAYED), left), PYTHON.allow_unused
    if not used:
        what, fix = f"No request was sent, so nothing of {name} was replayed.", NO_REQUEST_FIX
        return Cause(what, kind="no_request", where=where, fix=fix, allow=allow)
    what = f"No request asked for {left} of {pluralize(total, 'exchange')} in {name}."
    fix = f"Find out why; pytest --record {shlex.quote(item.nodeid)} removes what no test requests."
    return Cause(what, kind="unused", where=where, fix=fix, allow=allow)


def _is_marked_itself(item: pytest.Item) -> bool:
    return next(node for node, _ in item.iter_markers_with_node("cassette")) is item


def _is_of_this_test_alone(item: pytest.Item, path: Path) -> bool:
    """Return whether the function runs only once, and no other source file names the cassette."""
    if hasattr(item, "callspec"):
        return False
    sources: ProjectSources = item.config.stash.setdefault(_SOURCES_STASH_KEY, ProjectSources(item.config.rootpath))
    return sources.count_marks(path) == 1 and not sources.is_named_elsewhere(path)


def _list(exchanges: Sequence[Interaction], count: int) -> str:
    """List exchanges, a line each, and how many of `count` are not listed."""
    lines = [f"{exchange.method} {exchange.uri}: {exchange.status}" for exchange in exchanges]
    return "\n".join([*lines, *([f"… {count - len(lines)} more"] if count > len(lines) else [])])


_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20


@dataclass(frozen=True)
class ProjectSources:
    """The Python files below `root`, which are read only once."""

    root: Path

    def count_marks(self, cassette: Path) -> int:
        """Count the marks that name this cassette, or a cassette with the same name in another folder."""
        return self._count(cassette.stem, rf"mark\.cassette\(\s*{_quoted(cassette)}")

    def is_named_elsewhere(self, cassette: Path) -> bool:
        """Return whether the sources also quote the name of a cassette outside of marks."""
        return self._count(cassette.stem, _quoted(cassette)) > self.count_marks(cassette)

    def _count(self, word: str, pattern: str) -> int:
        """Count the matches of a pattern in the sources that contain `word`, which is a part of it."""
        # Searching for the word first is fast, and few files contain it.
        return sum(len(re.findall(pattern, text)) for text in self._texts if word in text)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)]


def _quoted(cassette: Path) -> str:
    return rf"[\"'](?:[^\"'\n]*/)?{re.escape(cassette.stem)}(?:\.ya?ml)?[\"']"


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path


_USE_ATTRIBUTE = "_harness_cassette_use"
_DESELECTED_STASH_KEY = pytest.StashKey[set[str]]()
_PASSED_STASH_KEY = pytest.StashKey[bool]()


def record_run(config: pytest.Config) -> None:
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
        from harness.overrides.derive import offer_learning

        written = [file for cassette in self._uses if (file := Path(cassette)).exists()]
        for cassette, number in self._recorded.items():
            name = Path(os.path.relpath(cassette, self._config.rootpath)).as_posix()
            terminalreporter.write_line(f"{pluralize(number, 'exchange')} recorded in {name}")
        for line in [*(offer_learning(written, self._config.rootpath) if written else ()), *self._said]:
            terminalreporter.write_line(line)

    def _prune(self, path: Path, uses: dict[str, dict[str, Any]]) -> Iterator[str]:
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
