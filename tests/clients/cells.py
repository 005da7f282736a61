"""What a suite says: its environments and, for each of its tests, how that test is to end in them.

`suites/<suite>/suite.toml`, beside the tests:

    [environments.affected]
    python = ["agent-framework-core==1.2.1"]
    npm = ["openai@6.1.0"]

    [cells.test_of_the_scenario]
    affected = "Invalid value: 'input_file'"
    newest = "green"

A cell is named by a test function, or by one of its parameter sets (`test_x[stream]`). It is "green", or red with a text
that the harness's report of the failure has in its first lines.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError

HERE = Path(__file__).parent / "suites"
GREEN = "green"


@dataclass(frozen=True, slots=True)
class Environment:
    """The packages some tests run with: requirements of PyPI and of npm; `here` is the interpreter that runs the suites.

    `sources` are releases of PyPI, say `NAME==1.0`, whose source distributions are unpacked into the folder `sources`.
    """

    name: str
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    here: bool = False
    timeout: int = 300
    """Seconds the tests of one suite may take in it."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of tests: its environments, and by test the expectation by environment."""

    folder: Path
    environments: tuple[Environment, ...]
    cells: Mapping[str, Mapping[str, str]]

    @property
    def name(self) -> str:
        return self.folder.name

    def files(self, environment: str) -> list[Path]:
        """Return the files with a test that runs in an environment: others may import what it does not have."""
        wanted = {function_of(cell) for cell, expected in self.cells.items() if environment in expected}
        return [file for file in _files(self.folder) if wanted & set(_tests(file))]

    def expected(self, environment: str) -> dict[str, str]:
        """By cell what an environment must show."""
        return {cell: told[environment] for cell, told in self.cells.items() if environment in told}


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
        suite = Suite(file.parent, environments, said["cells"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise ConfigError(f"{file}: {problem!r}; see tests/clients/cells.py for what it has.") from problem
    if faults := list(_faults(suite)):
        raise ConfigError("\n".join(f"{file}: {fault}" for fault in faults))
    return suite


def _environment(name: str, own: dict[str, Any]) -> Environment:
    lists = {kind: tuple(own.pop(kind, ())) for kind in ("python", "npm", "sources")}
    return Environment(name, **lists, **own)


def _faults(suite: Suite) -> Iterator[str]:
    tests = [name for file in _files(suite.folder) for name in _tests(file)]
    names = {environment.name for environment in suite.environments}
    for cell, expected in suite.cells.items():
        if function_of(cell) not in tests:
            yield f"cells.{cell}: there is no such test"
        if unknown := sorted(set(expected) - names):
            yield f"cells.{cell}: no environment {', '.join(unknown)}"
        if wrong := [name for name, told in expected.items() if not (isinstance(told, str) and told)]:
            yield f"cells.{cell}: {', '.join(wrong)} must be {GREEN!r} or a text of the failure"
    celled = {function_of(cell) for cell in suite.cells}
    yield from (f"{name} has no cell" for name in tests if name not in celled)
    yield from (f"{name} is the name of two tests" for name in sorted(set(tests)) if tests.count(name) > 1)
    used = {name for expected in suite.cells.values() for name in expected}
    yield from (f"environments.{name}: no cell is in it" for name in sorted(names - used))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("test_*.py"))


def _tests(file: Path) -> list[str]:
    """Return the names of the tests in a file, read without importing it."""
    try:
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file)))
    except SyntaxError as problem:
        raise ConfigError(f"{file}:{problem.lineno}: {problem.msg}") from problem
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node.name for node in functions if node.name.startswith("test_")]
