"""Keeps notes of which exchanges of a cassette were last replayed on this machine, and by which test.

Each cassette has a folder in the user's cache directory, never in the project, with one file per test. The modification
time of a file is the time of the replay.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import orjson

from harness.cassettes.format.interaction import Interaction


class ReplayNote(NamedTuple):
    """The last replay by one test (its absolute path and name; empty for a server), in seconds since 1970.

    `digests` identify the exchanges that were replayed; None if any may have been.
    """

    test: str
    at: float
    digests: frozenset[str] | None


def note_replay(cassette: Path, test: str = "", exchanges: Iterable[Interaction] | None = None) -> None:
    """Record that a test replays these exchanges of a cassette now, by default any; errors are ignored."""
    digests = None if exchanges is None else [digest_exchange(exchange) for exchange in exchanges]
    with suppress(OSError):
        folder = _notes_folder(cassette)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _digest(os.fsencode(test))).write_bytes(orjson.dumps({"test": test, "digests": digests}))


def replay_notes(cassette: Path) -> Sequence[ReplayNote]:
    """Read the last replay by each test; unreadable notes are skipped."""
    notes = list[ReplayNote]()
    with suppress(OSError):
        for file in sorted(_notes_folder(cassette).iterdir()):
            with suppress(OSError, ValueError, KeyError, TypeError):
                note = orjson.loads(file.read_bytes())
                digests = None if note["digests"] is None else frozenset(note["digests"])
                notes.append(ReplayNote(str(note["test"]), file.stat().st_mtime, digests))
    return notes


def last_replay_date(cassette: Path) -> str:
    """Return the day of the last replay (YYYY-MM-DD), or an empty string if none is known."""
    last = max((note.at for note in replay_notes(cassette)), default=None)
    return "" if last is None else datetime.fromtimestamp(last, UTC).date().isoformat()


def digest_exchange(exchange: Interaction) -> str:
    """Return a digest of an exchange that does not depend on its position in the cassette."""
    parts = (exchange.method.encode(), exchange.uri.encode(), exchange.body, exchange.answer)
    return _digest(orjson.dumps([part.hex() for part in parts]))


def _notes_folder(cassette: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "responses-harness" / "replays" / _digest(os.fsencode(cassette.resolve()))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
