"""The source files of a project, read to find the names of cassettes in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_ROOT_MARKERS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SOURCE_NAME = re.compile(
    r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml|sh|mk)|(?:GNU)?[Mm]akefile|[Jj]ustfile"
)
_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20


@dataclass(frozen=True)
class ProjectSources:
    """The sources below `root`, which are read once."""

    root: Path

    def has_word(self, word: str) -> bool:
        """Tell whether a source file has this word."""
        return bool(word) and self._count(word, rf"(?<![\w-]){re.escape(word)}(?![\w-])") > 0

    def count_marks(self, cassette: Path) -> int:
        """Count the marks that give a test this cassette, or a cassette of the same name in another folder."""
        return self._count(cassette.stem, rf"mark\.cassette\(\s*{_quoted(cassette)}")

    def is_named_elsewhere(self, cassette: Path) -> bool:
        """Tell whether the sources quote the name of a cassette outside of marks, too."""
        return self._count(cassette.stem, _quoted(cassette)) > self.count_marks(cassette)

    def _count(self, word: str, pattern: str) -> int:
        """Count the matches of a pattern in the sources that have its word: few do, and that is found quickly."""
        return sum(len(re.findall(pattern, text)) for text in self._texts if word in text)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)]


def _quoted(cassette: Path) -> str:
    """Make a pattern of a cassette's name in quotes."""
    return rf"[\"'](?:[^\"'\n]*/)?{re.escape(cassette.stem)}(?:\.ya?ml)?[\"']"


def find_project_root(near: Path) -> Path:
    """Find the folder of the project that a file belongs to."""
    parents = near.resolve().parents
    return next((folder for folder in parents if any((folder / name).exists() for name in _ROOT_MARKERS)), parents[0])


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if _SOURCE_NAME.fullmatch(name)):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path
