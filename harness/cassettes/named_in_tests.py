"""Which tests of a project name a cassette, and whether anything does: its sources are read, never run."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_ROOTS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SETTINGS = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_FOLDER = re.compile(r"^\s*harness_cassettes\s*=\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.M)
"""Where a project says that its cassettes are elsewhere."""
_SOURCES = re.compile(
    r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml|sh|mk)|(?:GNU)?[Mm]akefile|[Jj]ustfile"
)
_ELSEWHERE = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_LARGEST = 1 << 20
_MARK = "mark.cassette"


@dataclass(frozen=True)
class Project:
    """The sources below `root`, which are read once."""

    root: Path

    def names(self, word: str) -> bool:
        """Whether a source file has this word."""
        return bool(word) and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", self._whole) is not None

    def marked(self, file: Path) -> Sequence[str]:
        """The tests that `@pytest.mark.cassette` gives this file, as pytest names them from `root`."""
        with suppress(ValueError):
            return self._marks[file.resolve().relative_to(self.root / self._folder).with_suffix("").as_posix()]
        return ()

    @cached_property
    def _texts(self) -> Mapping[Path, str]:
        return {path: path.read_text(encoding="utf-8", errors="replace") for path in _sources(self.root)}

    @cached_property
    def _whole(self) -> str:
        return "\n".join(self._texts.values())

    @cached_property
    def _folder(self) -> str:
        files = (self.root / name for name in _SETTINGS)
        found = (_FOLDER.search(file.read_text(encoding="utf-8", errors="replace")) for file in files if file.is_file())
        return next((each[1] for each in found if each), "cassettes")

    @cached_property
    def _marks(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path, text in self._texts.items():
            if path.suffix == ".py" and _MARK in text:
                for name, test in _tests(text, path.relative_to(self.root).as_posix()):
                    found[name.removesuffix(".yaml").removesuffix(".yml")].append(test)
        return found


def project(near: Path) -> Path:
    """The folder of the project that a file belongs to."""
    parents = near.resolve().parents
    return next((each for each in parents if any((each / name).exists() for name in _ROOTS)), parents[0])


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _ELSEWHERE)
        for path in (Path(folder, name) for name in sorted(names) if _SOURCES.fullmatch(name)):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                yield path


def _tests(text: str, file: str) -> Iterator[tuple[str, str]]:
    """The cassettes that the tests of a Python file name, each with the test; a file that is no Python has none."""
    with suppress(SyntaxError, ValueError, RecursionError):
        tree = ast.parse(text)
        for line in tree.body:
            if isinstance(line, ast.Assign) and "pytestmark" in map(ast.unparse, line.targets):
                yield from ((name, file) for name in _named([line.value]))
        yield from _marked(tree, file)


def _marked(holder: ast.Module | ast.ClassDef, where: str) -> Iterator[tuple[str, str]]:
    for each in holder.body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            own = f"{where}::{each.name}"
            yield from ((name, own) for name in _named(each.decorator_list))
            if isinstance(each, ast.ClassDef):
                yield from _marked(each, own)


def _named(expressions: Sequence[ast.expr]) -> Iterator[str]:
    """The names that marks give."""
    for each in (node for expression in expressions for node in ast.walk(expression)):
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith(_MARK):
            yield from (one.value for one in each.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
