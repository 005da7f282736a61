"""Lists the recordings below a path, and notes when each was last replayed on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path

from harness.cassettes.format.untrusted import UnreadableRecording
from harness.core.bounded_input import refuse_other

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".har")
"""The suffixes of recordings, each optionally followed by `.gz`."""
_ADVICE = "Pass the path of a recording, or of a folder."


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the recordings at these paths: each file, and in each folder the files with a recording's suffix, sorted.

    UnreadableRecording for a path that does not exist, or a folder that cannot be listed. No folder is visited twice.
    """
    for path in paths:
        if path.is_dir():
            yield from _below(path)
            continue
        try:
            refuse_other(path)
        except FileNotFoundError:
            raise UnreadableRecording(
                f"{printable_path(path)}: no such file or folder. {_suggest_path(path)}"
            ) from None
        except OSError as problem:
            why = f"cannot be read: {problem.strerror}"
            raise UnreadableRecording(f"{printable_path(path)}: {why}. {_ADVICE}") from problem
        yield path


def _suggest_path(path: Path) -> str:
    """Name the path most similar to one at which nothing is, or a link to nothing, else advise."""
    with suppress(OSError):
        others = [name for name in os.listdir(path.parent) if name != path.name]
        if near := get_close_matches(path.name, others, 1):
            return f"Did you mean {printable_path(path.with_name(near[0]))!r}?"
    return _ADVICE


def _below(folder: Path) -> Iterator[Path]:
    def refuse(problem: OSError) -> None:
        raise UnreadableRecording(
            f"{problem.filename}: cannot be listed: {problem.strerror}. Make it readable, or leave it out."
        )

    seen = {os.path.realpath(folder)}
    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = {name: os.path.realpath(Path(parent, name)) for name in sorted(folders)}
        folders[:] = [name for name, where in real.items() if where not in seen]
        seen.update(real.values())
        here = (Path(parent, name) for name in sorted(names) if recording_suffix(name))
        yield from (file for file in here if file.is_file())


def recording_suffix(name: str) -> str:
    """Return the suffix of a recording's name, without `.gz`; empty for other files."""
    plain = name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if plain.endswith(suffix)), "")


def printable_path(path: Path) -> str:
    """Return a path as text, with bytes that are not text replaced."""
    return path.as_posix().encode("utf-8", "replace").decode()


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
