"""Tries changes with the tests that execute them: in a fork of this process, else in a file that is imported anew."""

import functools
import itertools
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import coverage
import pytest

from tools.mutate.change import Change
from tools.mutate.measure import Measured, measure
from tools.mutate.run import first_failing, in_child, in_session, say
from tools.mutate.swap import find_functions, swap

IN_FILE = "its function has another closure"
DIED = "the process died"
SURVIVED = "nothing"
TIMES = itertools.count(1_500_000_000)


@dataclass
class Trial:
    """Tries changes with the tests that execute them, but those that fail without a change, too."""

    measured: Measured
    unreliable: set[str] = field(default_factory=set)

    def find_notice(
        self, change: Change, fails: Callable[[Change | None, list[str]], str], *, only_beside: bool = False
    ) -> str:
        """Return which test fails with a change, or what else happens; nothing if it survives."""
        found = self.measured.tests_of(change, only_beside=only_beside)
        tests = [test for test in found if test not in self.unreliable]
        while tests and (failing := fails(change, tests)):
            known = failing in tests
            if not fails(None, [failing] if known else tests[:1]):
                return failing
            self.unreliable |= {failing}
            tests = tests[tests.index(failing) + 1 :] if known else []
        return ""


def fails_in_fork(session: pytest.Session, change: Change | None, tests: list[str]) -> str:
    """Return which test fails with a change of a function."""

    def run() -> str:
        for cached in find_functions()[1]:
            cached.cache_clear()
        return IN_FILE if change and not swap(change) else first_failing(session, tests)

    ended, failing = in_child(run)
    return failing if ended else DIED


def fails_in_file(options: list[str], change: Change | None, tests: list[str]) -> str:
    """Return which of these tests fails with a change of a file: all is imported anew."""
    file = change.file if change else Path("README.md")
    whole = file.read_text(encoding="utf-8")
    write(file, change.apply(whole) if change else whole)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    ended, failing = in_child(lambda: in_session([*options, *files], lambda session: first_failing(session, tests)))
    write(file, whole)
    return failing if ended else DIED


def write(file: Path, text: str) -> None:
    """Write a module, with a time of its own: what Python has compiled of it before is of another time."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, times=(next(TIMES),) * 2)


def try_in_forks(changes: list[Change], arguments: list[str]) -> tuple[Measured, dict[int, str]]:
    """Measure tests, and return what notices each change of a function in their process."""
    cover = coverage.Coverage(data_file=None, config_file=False, source=["harness"])
    cover.start()

    def run(session: pytest.Session) -> tuple[Measured, dict[int, str]]:
        _, measured = in_child(lambda: measure(session, cover), seconds=36_000)
        cover.stop()
        say(f"{len(measured.seconds)} of {len(session.items)} tests pass, in {sum(measured.seconds.values()):.0f} s")
        for change in changes:  # a module that only a test imports has no functions yet
            with suppress(Exception):
                import_module(".".join(change.file.with_suffix("").parts).removesuffix(".__init__"))
        find_functions()  # once for all forks
        trial, noticed = Trial(measured), dict[int, str]()
        for number, change in enumerate(changes):
            if not measured.runs_on_import(change):
                noticed[number] = trial.find_notice(change, functools.partial(fails_in_fork, session))
                report(change, noticed[number])
        return measured, noticed

    found: tuple[Measured, dict[int, str]] = in_session(arguments, run)
    return found


def report(change: Change, notice: str) -> None:
    """Print a change that survives; others only as a sign of life, once it is known what notices them."""
    if notice not in ("", IN_FILE):
        say(str(change) if notice == SURVIVED else f"  noticed: {change.file}:{change.node.lineno} by {notice[:100]}")


def find_survivors(changes: list[Change], folders: list[str], *options: str) -> list[Change]:
    """Return the changes that none of the tests notices which options select in folders."""
    _, tried = in_child(lambda: try_in_forks(changes, [*options, *folders]), seconds=36_000)
    if isinstance(tried, str):
        sys.exit(f"{' '.join(folders)}: {tried}")
    measured, noticed = tried
    for name in measured.modules:  # so that no process has to import them
        with suppress(Exception):
            import_module(name)
    trial, survivors = Trial(measured), list[Change]()
    for number, change in enumerate(changes):
        notice = noticed.get(number, IN_FILE)
        if notice in ("", IN_FILE):
            fails = functools.partial(fails_in_file, [*options])
            notice = trial.find_notice(change, fails, only_beside=not notice)
            report(change, notice or SURVIVED)
        survivors += [] if notice else [change]
    return survivors
