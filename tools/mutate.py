"""`python -m tools.mutate PACKAGE…`: changes single expressions of `harness/PACKAGE`, and lists what no quick test notices.

It samples `--count` changes of each package: a comparison or a condition reversed, a number or truth value altered, a
statement left out, None returned. One run in a copy of the checkout tells which of the quick tests below `--tests` (those
that mirror the packages) execute which lines; each change is then tried with those that execute it. A test that fails, or
takes too much CPU time, has noticed it. What survives is tried with the slow tests in the same way if `--slow` is given.

A function is changed in a fork of that run. What runs on import, or in a process that a test starts, is changed in its
file, and imported anew.
"""

import argparse
import ast
import functools
import gc
import itertools
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import coverage
import pytest

SECONDS = 30
"""How much CPU time the tests take, as measured, that are tried with one change."""
CPU_SECONDS = 120
OPTIONS = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
ON_IMPORT = ""
"""In place of a test: what runs before all of them."""
IN_FILE = "its function has another closure"
DIED = "the process died"
SURVIVED = "nothing"
RUNNING = "MUTATE_RUNNING"
"""The variable with the test that runs, from which its processes take the context of what they measure."""
BESIDE = """[run]
source = {folder}/harness
data_file = {data}
context = ${{MUTATE_RUNNING-}}
sigterm = true
"""
"""How coverage measures the processes that tests start."""
OUT = os.dup(1)
TIMES = itertools.count(1_500_000_000)
PAIRS: list[tuple[type[ast.cmpop], type[ast.cmpop]]] = [
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
]
OPPOSITES = dict([*PAIRS, *((new, old) for old, new in PAIRS)])


@dataclass(frozen=True)
class Change:
    """A place in a module, and the text that replaces what stands there."""

    file: Path
    node: ast.stmt | ast.expr
    statement: ast.stmt
    new: str

    def apply(self, text: str) -> str:
        """Return the text of the module with the change."""
        lines = text.encode().splitlines(keepends=True)
        start, end = self.node.lineno - 1, (self.node.end_lineno or 0) - 1
        before, after = lines[start][: self.node.col_offset], lines[end][self.node.end_col_offset :]
        return b"".join([*lines[:start], before, self.new.encode(), after, *lines[end + 1 :]]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.node.lineno}: {ast.unparse(self.node)[:90]}  ->  {self.new[:90]}"


def changes_of(file: Path) -> Iterator[Change]:
    """Yield every change but those of annotations, of classes' decorators and of f-strings (3.11 has no places there)."""
    skipped = set[ast.AST]()
    statements: dict[ast.AST, ast.stmt] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        around = node if isinstance(node, ast.stmt) else statements.get(node)
        statements |= {part: around for part in ast.iter_child_nodes(node) if around}
        kept: list[ast.AST] = [node] if isinstance(node, ast.JoinedStr) else []
        kept += filter(None, [getattr(node, name, None) for name in ("annotation", "returns")])
        kept += node.decorator_list if isinstance(node, ast.ClassDef) else []
        skipped |= {part for root in kept for part in ast.walk(root)}
        if node not in skipped and isinstance(node, ast.stmt | ast.expr) and around and (new := _altered(node)):
            yield Change(file, node, around, new)


def _altered(node: ast.stmt | ast.expr) -> str:
    """Return what stands in place of a node, or nothing."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return f"({ast.unparse(ast.Compare(left, [OPPOSITES[type(operator)]()], [right]))})"
        case ast.BoolOp(op=operator, values=values):
            return f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))})"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"({ast.unparse(ast.IfExp(test, other, body))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"bool({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            return repr(not value)
        case ast.Constant(value=int(value) | float(value)):
            return repr(value + 1)
        case ast.Return(value=ast.Constant(value=None | False | "" | 0)):
            return ""  # as false as None
        case ast.Return(value=value) if value:
            return "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            return "pass"
    return ""


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


@dataclass
class Loop:
    """Runs something in place of the tests of a pytest session, once they are collected."""

    function: Callable[[pytest.Session], Any]
    result: Any = "no test was collected"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run it, unless a module could not be collected."""
        self.result = "a module cannot be imported" if session.testsfailed else self.function(session)
        return True


def in_child(function: Callable[[], Any], seconds: float = CPU_SECONDS) -> tuple[bool, Any]:
    """Return whether a process with so much CPU time came to an end by itself, and what the function returned in it."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = Path(folder, "returned")
        if not (child := os.fork()):
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
                signal.alarm(int(10 * seconds))  # for what waits forever
                os.environ["PYTEST_DEBUG_TEMPROOT"] = folder  # sessions beside each other may fail to share one
                with open(os.devnull, "w") as nowhere:
                    os.dup2(nowhere.fileno(), 1)
                    os.dup2(nowhere.fileno(), 2)
                written.write_bytes(pickle.dumps(function()))
                code = 0
            finally:  # a change of the plugin may raise anything
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return (True, pickle.loads(written.read_bytes())) if status == 0 else (False, None)


def in_session(arguments: Iterable[str], function: Callable[[pytest.Session], Any]) -> Any:
    """Collect tests, and return what a function makes of them."""
    loop = Loop(function)
    pytest.main([*OPTIONS, *arguments], plugins=[loop])
    return loop.result


def first_failing(session: pytest.Session, tests: Iterable[str]) -> str:
    """Return the first of these tests that fails."""
    items = {item.nodeid: item for item in session.items}
    wanted = [items[test] for test in tests if test in items]
    for item, following in zip(wanted, [*wanted[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""


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


@functools.cache
def find_functions() -> tuple[dict[str, list[types.FunctionType]], list[Any]]:
    """Return the functions that there are, by their files, and the caches of the harness."""
    functions: dict[str, list[types.FunctionType]] = defaultdict(list)
    gc.unfreeze()
    held = gc.get_objects()
    for function in held:
        if isinstance(function, types.FunctionType):
            functions[function.__code__.co_filename].append(function)
    caches = [cache for cache in held if isinstance(cache, functools._lru_cache_wrapper)]
    gc.freeze()  # a fork shares what is not visited again
    return functions, [cache for cache in caches if cache.__module__.startswith("harness")]


def swap(change: Change) -> bool:
    """Give each function that a change is in its new code, in this process; return whether that is possible."""
    whole = change.file.read_text(encoding="utf-8")
    path = str(change.file.resolve())
    old, new = [codes_of(compile(text, path, "exec", dont_inherit=True)) for text in (whole, change.apply(whole))]
    functions = find_functions()[0][path]
    for function in functions:
        code = function.__code__
        try:
            function.__code__ = new[code.co_qualname][old[code.co_qualname].index(code)]
        except (LookupError, ValueError):  # it uses other names of the function around it
            return False
    return bool(functions)


def codes_of(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    """Return the code of all functions, by their names in full."""
    found: dict[str, list[types.CodeType]] = {code.co_qualname: [code]}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            for name, codes in codes_of(part).items():
                found.setdefault(name, []).extend(codes)
    return found


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


def mirroring(package: str) -> list[str]:
    """Return the tests of a package: its folder, and the files elsewhere that test its modules."""
    from tests.test_mirror import TESTED_WITH

    name = package.partition("/")[0]
    listed = [file for file, tested in TESTED_WITH.items() if any(module.startswith(f"{name}/") for module in tested)]
    return [f"tests/{name}", *(f"tests/{file}" for file in listed if not file.startswith(f"{name}/"))]


def say(line: str) -> None:
    """Print a line at once, wherever pytest sends what is printed."""
    os.write(OUT, f"{line}\n".encode())


def main() -> None:
    """Try changes of each package, and print those that survive."""
    parser = argparse.ArgumentParser(description="Lists changes of the harness that no quick test notices.")
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="a package, or a module as api/models.py")
    parser.add_argument("--count", type=int, default=8, help="changes of each package (8)")
    parser.add_argument("--seed", default="1", help="another one samples other changes")
    parser.add_argument("--tests", nargs="+", metavar="FOLDER", help="the tests asked (those that mirror the packages)")
    parser.add_argument("--slow", action="store_true", help="try what survives with the slow tests")
    options = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(os.path.isfile, tracked):
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, Path(folder, name))
        os.chdir(folder)
        os.environ["PYTHONPATH"] = folder
        sys.path[:] = [folder, *sys.path[1:]]
        changes = [change for package in options.packages for change in sample(package, options)]
        named = options.tests or [file for package in options.packages for file in mirroring(package)]
        quick = find_survivors(changes, folders := [*dict.fromkeys(named)])
        slow = find_survivors(quick, folders, "-m", "slow") if options.slow and quick else quick
        for package in options.packages:
            ours, left, last = (
                [change for change in several if change.file.is_relative_to(f"harness/{package}")]
                for several in (changes, quick, slow)
            )
            more = f", {len(last)} the slow tests, too" if options.slow else ""
            say(f"{package}: {len(left)} of {len(ours)} survived{more}")


def sample(package: str, options: argparse.Namespace) -> list[Change]:
    """Return some changes of a package, in the order of its lines."""
    root = Path("harness", package)
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    found = [change for file in files for change in changes_of(file)]
    chosen = random.Random(options.seed).sample(range(len(found)), min(options.count, len(found)))
    return [found[number] for number in sorted(chosen)]


if __name__ == "__main__":
    main()
