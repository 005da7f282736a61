"""Notes when a cassette was last replayed on this machine: as the time of a file in the user's cache directory."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path


def note_replay(cassette: Path) -> None:
    """Record that a cassette is replayed now; errors are ignored."""
    with suppress(OSError):
        note = _note_of(cassette)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()


def last_replay_date(cassette: Path) -> str:
    """Return the day of the last replay (YYYY-MM-DD), or an empty string if none is known."""
    try:
        return datetime.fromtimestamp(_note_of(cassette).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return ""


def _note_of(cassette: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = blake2b(os.fsencode(cassette.resolve()), digest_size=16).hexdigest()
    return cache / "responses-harness" / "last-replays" / name
