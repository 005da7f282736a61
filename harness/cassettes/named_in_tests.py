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

_ROOT_MARKERS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SETTINGS_FILES = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_FOLDER_SETTING = re.compile(r"^\s*harness_cassettes\s*=\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.M)
"""Where a project says that its cassettes are elsewhere."""
_SOURCE_NAMES = re.compile(
    r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml|sh|mk)|(?:GNU)?[Mm]akefile|[Jj]ustfile"
)
_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20
_CASSETTE_MARK = "mark.cassette"


@dataclass(frozen=True)
class ProjectSources:
    """The sources below `root`, which are read once."""

    root: Path

    def has_word(self, word: str) -> bool:
        """Whether a source file has this word."""
        return bool(word) and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", self._joined_sources) is not None

    def tests_naming(self, file: Path) -> Sequence[str]:
        """The tests that `@pytest.mark.cassette` gives this file, as pytest names them from `root`."""
        with suppress(ValueError):
            return self._tests_by_cassette[
                file.resolve().relative_to(self.root / self._cassette_folder).with_suffix("").as_posix()
            ]
        return ()

    @cached_property
    def _source_texts(self) -> Mapping[Path, str]:
        return {path: path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)}

    @cached_property
    def _joined_sources(self) -> str:
        return "\n".join(self._source_texts.values())

    @cached_property
    def _cassette_folder(self) -> str:
        files = (self.root / name for name in _SETTINGS_FILES)
        found = (
            _FOLDER_SETTING.search(file.read_text(encoding="utf-8", errors="replace"))
            for file in files
            if file.is_file()
        )
        return next((each[1] for each in found if each), "cassettes")

    @cached_property
    def _tests_by_cassette(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path, text in self._source_texts.items():
            if path.suffix == ".py" and _CASSETTE_MARK in text:
                for name, test in _marks_in_file(text, path.relative_to(self.root).as_posix()):
                    found[name.removesuffix(".yaml").removesuffix(".yml")].append(test)
        return found


def find_project_root(near: Path) -> Path:
    """The folder of the project that a file belongs to."""
    parents = near.resolve().parents
    return next((each for each in parents if any((each / name).exists() for name in _ROOT_MARKERS)), parents[0])


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if _SOURCE_NAMES.fullmatch(name)):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path


def _marks_in_file(text: str, file: str) -> Iterator[tuple[str, str]]:
    """The cassettes that the tests of a Python file name, each with the test; a file that is no Python has none."""
    with suppress(SyntaxError, ValueError, RecursionError):
        tree = ast.parse(text)
        for line in tree.body:
            if isinstance(line, ast.Assign) and "pytestmark" in map(ast.unparse, line.targets):
                yield from ((name, file) for name in _names_in_marks([line.value]))
        yield from _marks_in_body(tree, file)


def _marks_in_body(holder: ast.Module | ast.ClassDef, where: str) -> Iterator[tuple[str, str]]:
    for each in holder.body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            own = f"{where}::{each.name}"
            yield from ((name, own) for name in _names_in_marks(each.decorator_list))
            if isinstance(each, ast.ClassDef):
                yield from _marks_in_body(each, own)


def _names_in_marks(expressions: Sequence[ast.expr]) -> Iterator[str]:
    """The names that marks give."""
    for each in (node for expression in expressions for node in ast.walk(expression)):
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith(_CASSETTE_MARK):
            yield from (one.value for one in each.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
