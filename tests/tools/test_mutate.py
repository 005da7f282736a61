"""The tool that changes the harness: what it changes, and which tests notice."""

import ast
import runpy
from pathlib import Path

import pytest

from tools.mutate.__main__ import mirroring
from tools.mutate.change import Change, changes_of
from tools.mutate.measure import ON_IMPORT, Measured
from tools.mutate.swap import find_functions, swap
from tools.mutate.trial import Trial

TEXT = "def f(a: int = 1) -> bool:\n    return a < 2 and not a\n"


def change_of(file: Path, new: str) -> Change:
    return next(change for change in changes_of(file) if change.new == new)


def test_a_change_replaces_one_expression(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    changed = {change.apply(TEXT) for change in changes_of(file)}
    returns = ("return None", "return (a < 2 or not a)", "return (a <= 2) and not a", "return a < 2 and bool(a)")
    expected = {TEXT.replace("return a < 2 and not a", other) for other in returns}
    assert changed == expected | {TEXT.replace("= 1", "= 2"), TEXT.replace("< 2", "< 3")}
    assert all(isinstance(change.statement, ast.stmt) for change in changes_of(file))


@pytest.mark.slow
def test_a_function_is_changed_wherever_it_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    function = runpy.run_path(str(file))["f"]
    assert function(2) is False
    find_functions.cache_clear()
    assert swap(change_of(file, "return None"))
    assert function(2) is None


def test_the_tests_of_a_change_execute_it_the_package_s_own_first() -> None:
    file = Path("harness/core/text.py")
    inside, outside = [
        next(change for change in changes_of(file) if isinstance(change.statement, kind))
        for kind in (ast.Return, ast.Assign)
    ]
    lines = {inside.node.lineno: {"tests/api/a", "tests/core/slow", "tests/core/b", "tests/core/fails"}}
    lines[outside.node.lineno] = {ON_IMPORT}
    seconds = {"tests/api/a": 0.1, "tests/core/slow": 0.3, "tests/core/b": 0.2, "tests/core/other": 0.1}
    measured = Measured({str(file): lines}, seconds, set())
    assert measured.tests_of(inside) == ["tests/core/b", "tests/core/slow", "tests/api/a"]
    assert [measured.runs_on_import(change) for change in (inside, outside)] == [False, True]
    assert measured.tests_of(outside) == measured.tests_of(inside)


def test_tests_whose_processes_execute_a_change_are_asked_after_those_that_do_so_themselves() -> None:
    file = Path("harness/core/text.py")
    change = next(changes_of(file))
    lines, beside = ({str(file): {change.node.lineno: {test}}} for test in ("tests/core/a", "tests/core/starts"))
    measured = Measured(lines, {"tests/core/a": 0.1, "tests/core/starts": 2}, set(), beside)
    assert measured.tests_of(change) == ["tests/core/a", "tests/core/starts"]
    assert measured.tests_of(change, only_beside=True) == ["tests/core/starts"]


def test_the_tests_of_a_package_are_those_that_mirror_it() -> None:
    assert mirroring("overrides/derive.py") == ["tests/overrides"]
    assert {"tests/cli", "tests/overrides/test_learn.py"} <= {*mirroring("cli")}


def test_what_fails_without_a_change_notices_nothing() -> None:
    change = next(changes_of(Path("harness/core/text.py")))
    tests = ["tests/core/a", "tests/core/b"]
    measured = Measured({str(change.file): {change.node.lineno: {*tests}}}, dict.fromkeys(tests, 0.1), set())
    always = Trial(measured).find_notice(change, lambda _, tests: tests[0])
    changed = Trial(measured).find_notice(change, lambda change, tests: tests[-1] if change else "")
    assert (always, changed) == ("", tests[-1])
