"""`python -m tools.mutate PACKAGE…`: changes single expressions of `harness/PACKAGE`, and lists what no quick test notices.

It samples `--count` changes of each package: a comparison or a condition reversed, a number or truth value altered, a
statement left out, None returned. Each is made in a copy of the checkout and tried with the quick tests that mirror or
import the module, then those of the package, then those that mirror what imports the module. A run that fails, or takes
too much CPU time, has noticed it.
"""

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

CPU_SECONDS = 120
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
PAIRS: list[tuple[type[ast.cmpop], type[ast.cmpop]]] = [
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
]
OPPOSITES = dict([*PAIRS, *((new, old) for old, new in PAIRS)])


@dataclass(frozen=True)
class Change:
    """A place in a module, and the text that replaces what stands there."""

    file: Path
    node: ast.stmt | ast.expr
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
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        kept: list[ast.AST] = [node] if isinstance(node, ast.JoinedStr) else []
        kept += filter(None, [getattr(node, name, None) for name in ("annotation", "returns")])
        kept += node.decorator_list if isinstance(node, ast.ClassDef) else []
        skipped |= {part for root in kept for part in ast.walk(root)}
        if node not in skipped and isinstance(node, ast.stmt | ast.expr) and (new := _altered(node)):
            yield Change(file, node, new)


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
        case ast.Return(value=value) if value and not (isinstance(value, ast.Constant) and value.value is None):
            return "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            return "pass"
    return ""


def tests_of(module: Path) -> list[Path]:
    """Return the test files that mirror a module, or import it; those of clients need environments of their own."""
    folder = Path("tests", *module.parts[1:-1])
    mirrors = [folder / f"test_{module.stem}.py"]
    for place in [place for place in (folder, *folder.parents) if len(place.parts) > 1]:
        mirrors += [place / f"test_{place.name}.py", place.parent / f"test_{place.name}.py"]
    found = dict.fromkeys([*mirrors, *importers(module, Path("tests"))])
    return [file for file in found if file.name.startswith("test_") and file.exists() and file.parts[1] != "clients"]


def importers(module: Path, below: Path) -> list[Path]:
    """Return the modules below a folder that import a module."""
    name = ".".join(module.with_suffix("").parts).removesuffix(".__init__")
    parent, _, last = name.rpartition(".")
    imported = re.compile(rf"from {re.escape(name)} import|from {re.escape(parent)} import .*\b{last}\b")
    return [file for file in sorted(below.rglob("*.py")) if imported.search(file.read_text(encoding="utf-8"))]


def is_noticed(tests: Sequence[Path]) -> bool:
    """Return whether a run of these tests fails, in a process that has what all runs import."""
    sys.stdout.flush()
    if not (child := os.fork()):
        code: int = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            code = pytest.main([*OPTIONS, *map(str, tests)])
        finally:  # a change of the plugin may raise anything
            os._exit(0 if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else 1)
    _, status = os.waitpid(child, 0)
    return status != 0


@cache
def pass_unchanged(tests: tuple[Path, ...]) -> bool:
    """Return whether tests pass without a change; what fails anyway notices nothing, which is printed."""
    if is_noticed(tests):
        print(f"fails without a change: pytest {' '.join(map(str, tests))}", flush=True)
        return False
    return True


def survives(change: Change) -> bool:
    """Return whether all quick tests pass with a change."""
    users = [test for user in importers(change.file, Path("harness")) for test in tests_of(user)[:1]]
    for tests in filter(None, (tests_of(change.file), [Path("tests", change.file.parts[1])], users)):
        whole = change.file.read_text(encoding="utf-8")
        change.file.write_text(change.apply(whole), encoding="utf-8")
        noticed = is_noticed(tests)
        change.file.write_text(whole, encoding="utf-8")
        if noticed and pass_unchanged(tuple(tests)):
            return False
    return True


def main() -> None:
    """Try changes of each package, and print those that survive."""
    parser = argparse.ArgumentParser(description="Lists changes of the harness that no quick test notices.")
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="a package, or a module as api/models.py")
    parser.add_argument("--count", type=int, default=8, help="changes of each package (8)")
    parser.add_argument("--seed", default="1", help="another one samples other changes")
    options = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(os.path.isfile, tracked):
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, Path(folder, name))
        os.chdir(folder)
        os.environ |= {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        sys.path[:] = [folder, *sys.path[1:]]
        tried, survived = 0, 0
        for package in options.packages:
            root = Path("harness", package)
            files = [root] if root.is_file() else sorted(root.rglob("*.py"))
            all_changes = [change for file in files for change in changes_of(file)]
            for change in random.Random(options.seed).sample(all_changes, min(options.count, len(all_changes))):
                tried += 1
                if survives(change):
                    survived += 1
                    print(change, flush=True)
            print(f"{package}: {survived} of {tried} survived so far", flush=True)


if __name__ == "__main__":
    main()
