"""Finds the marks and other quoted names of cassettes in the Python files of a project, also those that did not run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20


@dataclass(frozen=True)
class ProjectSources:
    """The Python files below `root`, which are read only once."""

    root: Path

    def count_marks(self, cassette: Path) -> int:
        """Count the marks that name this cassette, or a cassette with the same name in another folder."""
        return self._count(cassette.stem, rf"mark\.cassette\(\s*{_quoted(cassette)}")

    def is_named_elsewhere(self, cassette: Path) -> bool:
        """Return whether the sources also quote the name of a cassette outside of marks."""
        return self._count(cassette.stem, _quoted(cassette)) > self.count_marks(cassette)

    def _count(self, word: str, pattern: str) -> int:
        """Count the matches of a pattern in the sources that contain `word`, which is a part of it."""
        # Searching for the word first is fast, and few files contain it.
        return sum(len(re.findall(pattern, text)) for text in self._texts if word in text)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)]


def _quoted(cassette: Path) -> str:
    """Build a pattern for the quoted name of a cassette."""
    return rf"[\"'](?:[^\"'\n]*/)?{re.escape(cassette.stem)}(?:\.ya?ml)?[\"']"


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path
