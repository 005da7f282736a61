"""What a suite says: its environments, and which of its tests are not green in them.

`suites/<suite>/suite.toml`, beside the tests:

    [environments.affected]
    python = ["agent-framework-core==1.2.1"]
    npm = ["openai@6.1.0"]

    [cells.test_of_the_scenario]
    affected = "Invalid value: 'input_file'"

A cell is named by a test function, or by one of its parameter sets (`test_x[stream]`). It is red with a text that the
harness's report of the failure has in its first lines, or "not run". What is not said is "green".
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError

HERE = Path(__file__).parent / "suites"
GREEN, NOT_RUN = "green", "not run"


@dataclass(frozen=True, slots=True)
class Environment:
    """The packages some tests run with: requirements of PyPI and of npm; `here` is the interpreter that runs the suites.

    `sources` are releases of PyPI, say `NAME==1.0`, whose source distributions are unpacked into the folder `sources`. The
    tests of `files`, which are patterns, run in it: others may import what it does not have.
    """

    name: str
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    files: tuple[str, ...] = ("test_*.py",)
    here: bool = False
    timeout: int = 300
    """Seconds the tests of one suite may take in it."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of tests: its environments, by cell what is not green in them, by file its tests."""

    folder: Path
    environments: tuple[Environment, ...]
    cells: Mapping[str, Mapping[str, str]]
    tests: Mapping[Path, Sequence[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.name

    def files(self, environment: str) -> list[Path]:
        """Return the files with a test that runs in an environment."""
        wanted = {function_of(cell) for cell in self.expected(environment)}
        return [file for file, tests in self.tests.items() if wanted & set(tests)]

    def expected(self, environment: str) -> dict[str, str]:
        """By cell what an environment must show."""
        (patterns,) = (entry.files for entry in self.environments if entry.name == environment)
        files = [file for file in self.tests if any(file.match(pattern) for pattern in patterns)]
        tests = [test for file in files for test in self.tests[file]]
        cells = dict.fromkeys([*tests, *(cell for cell in self.cells if function_of(cell) in tests)])
        told = {cell: self.cells.get(cell, {}).get(environment, GREEN) for cell in cells}
        return {cell: outcome for cell, outcome in told.items() if outcome != NOT_RUN}


def function_of(cell: str) -> str:
    """Return the function of a test, without its parameters."""
    return cell.partition("[")[0]


def found(names: Iterable[str] = (), root: Path = HERE) -> list[Suite]:
    """Return the suites of these names, all of them without one; another name is a ConfigError."""
    known = {file.parent.name: file for file in sorted(root.glob("*/suite.toml"))}
    if unknown := sorted(set(names) - set(known)):
        raise ConfigError(f"no suite {', '.join(unknown)} in {root}: there is {', '.join(known) or 'none'}.")
    return [read(known[name]) for name in (names or known)]


def read(file: Path) -> Suite:
    """Return a suite; a ConfigError says what of its table does not fit its tests."""
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
        environments = tuple(_environment(name, packages) for name, packages in said["environments"].items())
        tests = {test_file: _tests(test_file) for test_file in sorted(file.parent.glob("test_*.py"))}
        suite = Suite(file.parent, environments, said.get("cells", {}), tests)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise ConfigError(f"{file}: {problem!r}; see tests/clients/cells.py for what it has.") from problem
    if faults := list(_faults(suite)):
        raise ConfigError("\n".join(f"{file}: {fault}" for fault in faults))
    return suite


def _environment(name: str, own: dict[str, Any]) -> Environment:
    lists = {kind: tuple(own.pop(kind)) for kind in ("python", "npm", "sources", "files") if kind in own}
    return Environment(name, **lists, **own)


def _faults(suite: Suite) -> Iterator[str]:
    tests = [name for names in suite.tests.values() for name in names]
    names = {environment.name for environment in suite.environments}
    for cell, expected in suite.cells.items():
        if function_of(cell) not in tests:
            yield f"cells.{cell}: there is no such test"
        if unknown := sorted(set(expected) - names):
            yield f"cells.{cell}: no environment {', '.join(unknown)}"
        if wrong := [name for name, told in expected.items() if not (isinstance(told, str) and told)]:
            yield f"cells.{cell}: {', '.join(wrong)} must be {GREEN!r}, {NOT_RUN!r} or a text of the failure"
    yield from (f"{name} is the name of two tests" for name in sorted(set(tests)) if tests.count(name) > 1)
    yield from (f"environments.{name}: no test runs in it" for name in sorted(names) if not suite.expected(name))


def _tests(file: Path) -> list[str]:
    """Return the names of the tests in a file, read without importing it."""
    try:
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file)))
    except SyntaxError as problem:
        raise ConfigError(f"{file}:{problem.lineno}: {problem.msg}") from problem
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node.name for node in functions if node.name.startswith("test_")]
