"""The source files of a project: whether they name a cassette, and in which tests. They are read, never run."""

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

_ROOT_MARKERS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SETTINGS_FILES = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_FOLDER_SETTING = re.compile(r"^\s*harness_cassettes\s*=\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.M)
_SOURCE_NAME = re.compile(
    r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml|sh|mk)|(?:GNU)?[Mm]akefile|[Jj]ustfile"
)
_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20
_MARK = "mark.cassette"


@dataclass(frozen=True)
class ProjectSources:
    """The sources below `root`, which are read once."""

    root: Path

    def has_word(self, word: str) -> bool:
        """Whether a source file has this word."""
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        return bool(word) and any(map(pattern.search, self._texts.values()))

    def tests_naming(self, cassette: Path) -> Sequence[str]:
        """The tests that `@pytest.mark.cassette` gives this file, as pytest names them from `root`."""
        with suppress(ValueError):
            name = cassette.resolve().relative_to(self.root / self._cassette_folder).with_suffix("")
            return self._tests_by_cassette[name.as_posix()]
        return ()

    def functions_naming(self, cassette: Path) -> Sequence[str]:
        """The same, but for a module or a class that a mark is on its test functions."""
        return [each for test in self.tests_naming(cassette) for each in self._functions_in(test)]

    def is_named_elsewhere(self, cassette: Path) -> bool:
        """Whether the sources quote the name of a cassette more often than marks do."""
        try:
            path = cassette.resolve().relative_to(self.root / self._cassette_folder)
        except ValueError:
            return True
        name = re.escape(path.with_suffix("").as_posix())
        quoted = re.compile(rf"[\"'](?:[^\"'\n]*/)?{name}(?:\.ya?ml)?[\"']")
        times = sum(len(quoted.findall(text)) for text in self._texts.values())
        return times > len(self.tests_naming(cassette))

    def _functions_in(self, test: str) -> Iterator[str]:
        """The test functions of a test as pytest names it: itself, or those of a class or module."""
        file, *names = test.split("::")
        body: Sequence[ast.stmt] = ast.parse(self._texts[self.root / file]).body
        for name in names:
            found = next((each for each in body if getattr(each, "name", "") == name), None)
            if not isinstance(found, ast.ClassDef):
                yield test
                return
            body = found.body
        yield from (f"{test}::{name}" for name in _test_functions(body))

    @cached_property
    def _texts(self) -> Mapping[Path, str]:
        return {path: path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)}

    @property
    def _cassette_folder(self) -> str:
        files = (self.root / name for name in _SETTINGS_FILES)
        texts = (file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())
        return next((found[1] for found in map(_FOLDER_SETTING.search, texts) if found), "cassettes")

    @cached_property
    def _tests_by_cassette(self) -> Mapping[str, Sequence[str]]:
        tests: dict[str, list[str]] = defaultdict(list)
        for path, text in self._texts.items():
            with suppress(SyntaxError, ValueError, RecursionError):
                body = ast.parse(text).body if path.suffix == ".py" and _MARK in text else []
                for name, test in _find_marks(body, path.relative_to(self.root).as_posix()):
                    tests[name.removesuffix(".yaml").removesuffix(".yml")].append(test)
        return tests


def find_project_root(near: Path) -> Path:
    """The folder of the project that a file belongs to."""
    parents = near.resolve().parents
    return next((each for each in parents if any((each / name).exists() for name in _ROOT_MARKERS)), parents[0])


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if _SOURCE_NAME.fullmatch(name)):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path


def _test_functions(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names of test functions in a module or class, those of classes in it as `Class::function`."""
    for each in body:
        if isinstance(each, ast.ClassDef) and each.name.startswith("Test"):
            yield from (f"{each.name}::{name}" for name in _test_functions(each.body))
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
            yield each.name


def _find_marks(body: Sequence[ast.stmt], place: str) -> Iterator[tuple[str, str]]:
    """The cassettes that marks name in a module or a class, each with the test."""
    for each in body:
        marks, test = list[ast.expr](), place
        if isinstance(each, ast.Assign) and "pytestmark" in map(ast.unparse, each.targets):
            marks = [each.value]
        elif isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            marks, test = each.decorator_list, f"{place}::{each.name}"
        for call in (node for mark in marks for node in ast.walk(mark) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).endswith(_MARK):
                values = (arg.value for arg in call.args if isinstance(arg, ast.Constant))
                yield from ((value, test) for value in values if isinstance(value, str))
        if isinstance(each, ast.ClassDef):
            yield from _find_marks(each.body, test)
