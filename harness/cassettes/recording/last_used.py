"""Remembers when a cassette was last replayed on this machine, so that unused ones can be found.

Each cassette has an empty file among the user's caches, never in the project, whose time is that of the replay.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path


def note_replay(cassette: Path) -> None:
    """Note that a cassette is replayed now; errors are ignored."""
    with suppress(OSError):
        mark = _marker_path(cassette)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def last_replay_date(cassette: Path) -> str:
    """The day of the last replay (YYYY-MM-DD), empty if none is known."""
    try:
        return datetime.fromtimestamp(_marker_path(cassette).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return ""


def _marker_path(cassette: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = blake2b(os.fsencode(cassette.resolve()), digest_size=16).hexdigest()
    return cache / "responses-harness" / "replayed" / name
