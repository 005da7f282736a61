"""Fails a test that leaves exchanges of its cassette unplayed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.options import read_marker_options

if TYPE_CHECKING:
    from harness.cassettes.format.interaction import Interaction
    from harness.cassettes.recording.vcr import CassetteSession
    from harness.explain.model import Cause
    from harness.pytest_plugin.cassette_marks import ProjectSources

MAX_UNPLAYED = 6
"""How many exchanges are listed at most."""
_SOURCES_STASH_KEY = pytest.StashKey["ProjectSources"]()
NO_REQUEST_FIX = (
    "The code under test must use the fixture `client`, or make its client while the test runs; or remove the marker."
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
        what, fix = f"No request came: nothing of {name} was replayed.", NO_REQUEST_FIX
        return Cause(what, kind="no_request", where=where, fix=fix, allow=allow)
    what = f"{left} of {pluralize(total, 'exchange')} in {name} no request asked for."
    fix = f"Look why it was not asked for; pytest --record {shlex.quote(item.nodeid)} removes what is too much."
    return Cause(what, kind="unused", where=where, fix=fix, allow=allow)


def _is_marked_itself(item: pytest.Item) -> bool:
    """Return whether the marker is on the test function itself."""
    return next(node for node, _ in item.iter_markers_with_node("cassette")) is item


def _is_of_this_test_alone(item: pytest.Item, path: Path) -> bool:
    """Return whether the function runs only once, and no other source file names the cassette."""
    from harness.pytest_plugin import cassette_marks

    if hasattr(item, "callspec"):
        return False
    sources: ProjectSources = item.config.stash.setdefault(
        _SOURCES_STASH_KEY, cassette_marks.ProjectSources(item.config.rootpath)
    )
    return sources.count_marks(path) == 1 and not sources.is_named_elsewhere(path)


def _list(exchanges: Sequence[Interaction], count: int) -> str:
    """List exchanges, a line each, and how many of `count` are not listed."""
    lines = [f"{exchange.method} {exchange.uri}: {exchange.status}" for exchange in exchanges]
    return "\n".join([*lines, *([f"… {count - len(lines)} more"] if count > len(lines) else [])])
