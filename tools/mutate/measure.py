"""Which tests execute which lines of the harness, and how long each takes."""

import os
import sys
import tempfile
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import coverage
import pytest

from tools.mutate.change import Change

SECONDS = 30
"""How much CPU time the tests take, as measured, that are tried with one change."""
ON_IMPORT = ""
"""In place of a test: what runs before all of them."""
RUNNING = "MUTATE_RUNNING"
"""The variable with the test that runs, from which its processes take the context of what they measure."""
BESIDE = """[run]
source = {folder}/harness
data_file = {data}
context = ${{MUTATE_RUNNING-}}
sigterm = true
"""
"""How coverage measures the processes that tests start."""
Lines = dict[str, dict[int, set[str]]]
"""The tests that execute each line of each file."""


@dataclass
class Measured:
    """Which tests execute each line of the harness, in their process and `beside` it, and the CPU seconds of each."""

    lines: Lines
    seconds: dict[str, float]
    modules: set[str]
    beside: Lines = field(default_factory=dict)

    def tests_of(self, change: Change, *, only_beside: bool = False) -> list[str]:
        """Return the tests that execute what a change replaces: first those that mirror the package, the quickest first."""
        mirror = f"tests/{change.file.parts[1]}/"
        found = set[str]() if only_beside else _executing(self.lines, change)
        if ON_IMPORT in found:  # whatever uses the module may notice
            found = set[str]().union(*self.lines[str(change.file)].values())
        found |= _executing(self.beside, change)
        ordered = sorted(
            found & self.seconds.keys(), key=lambda test: (not test.startswith(mirror), self.seconds[test], test)
        )
        total, chosen = 0.0, list[str]()
        for test in ordered:
            total += self.seconds[test]
            if total < SECONDS or not chosen:
                chosen.append(test)
        return chosen

    def runs_on_import(self, change: Change) -> bool:
        """Return whether a change is of what was run before the first test."""
        return ON_IMPORT in _executing(self.lines, change)


def _executing(lines: Lines, change: Change) -> set[str]:
    """Return the tests that execute what a change replaces, else those of its whole statement."""
    tests = lines.get(str(change.file), {})
    for node in (change.node, change.statement):
        ran = [tests.get(line, set[str]()) for line in range(node.lineno, (node.end_lineno or 0) + 1)]
        if found := set[str]().union(*ran):
            return found
    return set()


@dataclass(eq=False)
class SharedFixtures:
    """Has what a fixture for several tests executes measured as what each of them does that uses it."""

    cover: coverage.Coverage
    users: dict[str, set[str]] = field(default_factory=dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Any:
        """Name the context after the fixture, and its users, while it is set up."""
        if fixturedef.scope == "function":
            return (yield)
        name, items = f"{fixturedef.baseid} {fixturedef.argname}", request.session.items
        self.users[name] = {item.nodeid for item in items if fixturedef.argname in getattr(item, "fixturenames", ())}
        self.cover.switch_context(name)
        try:
            return (yield)
        finally:
            self.cover.switch_context(os.environ[RUNNING])


def measure(session: pytest.Session, cover: coverage.Coverage) -> Measured:
    """Run all tests, and return what each of them executes; what fails without a change notices nothing."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        data, settings = Path(folder, "data"), Path(folder, "settings")
        settings.write_text(BESIDE.format(folder=Path.cwd(), data=data))
        os.environ["COVERAGE_PROCESS_START"] = str(settings)
        session.config.pluginmanager.register(shared := SharedFixtures(cover))
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            os.environ[RUNNING] = item.nodeid
            cover.switch_context(item.nodeid)
            begun, failed = sum(os.times()[:4]), session.testsfailed
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed == failed:
                seconds[item.nodeid] = sum(os.times()[:4]) - begun
        cover.stop()
        lines, beside = executed(cover.get_data()), defaultdict[str, dict[int, set[str]]](dict)
        for found in chain.from_iterable(file.values() for file in lines.values()):
            found |= {test for name in found & shared.users.keys() for test in shared.users[name]}
        for written in Path(folder).glob("data.*"):
            with suppress(coverage.CoverageException):  # of a process that was killed
                (other := coverage.CoverageData(str(written))).read()
                for file, tests in executed(other).items():
                    for line in tests:
                        beside[file].setdefault(line, set()).update(tests[line])
    modules = {name.partition(".")[0] for name in sys.modules} - {"harness", "tests"}
    return Measured(lines, seconds, modules, dict(beside))


def executed(data: coverage.CoverageData) -> Lines:
    """Return which tests execute each line, of what one process has measured."""
    return {
        Path(file).relative_to(Path.cwd()).as_posix(): {
            line: set(tests) for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
