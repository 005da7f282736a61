"""Fails a test that leaves exchanges of its cassette unplayed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.core.cached import cached_property
from harness.pytest_plugin.options import read_marker_options

if TYPE_CHECKING:
    from harness.cassettes.format.interaction import Interaction
    from harness.cassettes.recording.vcr import CassetteSession
    from harness.explain.model import Cause


MAX_UNPLAYED = 6
"""How many exchanges are listed at most."""
_SOURCES_STASH_KEY = pytest.StashKey["ProjectSources"]()
NO_REQUEST_FIX = (
    "The code under test must use the fixture `client`, or create its client while the test runs; or remove the marker."
)


def find_unplayed(item: pytest.Item, session: CassetteSession) -> Cause | None:
    """Explain which exchanges a test left unplayed: all of its cassette, or a part that no other test replays.

    Else None.

    A cassette shared by several tests may hold more than one of them requests, and the marker of a module or class also
    applies to tests that send no requests.
    """
    total, used = session.exchange_count, len(session.used_numbers)
    if session.mode != "replay" or used == total or not _is_marked_itself(item):
        return None
    if read_marker_options(item)["unused"] == "allow" or (used and not _is_of_this_test_alone(item, session.path)):
        return None
    from harness.core.text import pluralize
    from harness.core.vocabulary import PYTHON
    from harness.explain.model import Cause

    name = Path(os.path.relpath(session.path, item.config.rootpath)).as_posix()
    left = total - used
    where, allow = _list(session.find_unplayed(MAX_UNPLAYED), left), PYTHON.allow_unused
    if not used:
        what, fix = f"No request was sent, so nothing of {name} was replayed.", NO_REQUEST_FIX
        return Cause(what, kind="no_request", where=where, fix=fix, allow=allow)
    what = f"No request asked for {left} of {pluralize(total, 'exchange')} in {name}."
    fix = f"Find out why; pytest --record {shlex.quote(item.nodeid)} removes what no test requests."
    return Cause(what, kind="unused", where=where, fix=fix, allow=allow)


def _is_marked_itself(item: pytest.Item) -> bool:
    return next(node for node, _ in item.iter_markers_with_node("cassette")) is item


def _is_of_this_test_alone(item: pytest.Item, path: Path) -> bool:
    """Return whether the function runs only once, and no other source file names the cassette."""
    if hasattr(item, "callspec"):
        return False
    sources: ProjectSources = item.config.stash.setdefault(_SOURCES_STASH_KEY, ProjectSources(item.config.rootpath))
    return sources.count_marks(path) == 1 and not sources.is_named_elsewhere(path)


def _list(exchanges: Sequence[Interaction], count: int) -> str:
    """List exchanges, a line each, and how many of `count` are not listed."""
    lines = [f"{exchange.method} {exchange.uri}: {exchange.status}" for exchange in exchanges]
    return "\n".join([*lines, *([f"… {count - len(lines)} more"] if count > len(lines) else [])])


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
    return rf"[\"'](?:[^\"'\n]*/)?{re.escape(cassette.stem)}(?:\.ya?ml)?[\"']"


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path
