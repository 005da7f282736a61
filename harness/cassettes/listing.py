"""Lists the recordings below a path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from harness.cassettes.format.untrusted import UnreadableRecording

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".har")
"""The suffixes of recordings, each optionally followed by `.gz`."""


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the recordings at these paths: each file, and in each folder the files with a recording's suffix, sorted.

    UnreadableRecording for a path that does not exist, or a folder that cannot be listed. No folder is visited twice.
    """
    for path in paths:
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path
        else:
            raise UnreadableRecording(f"{printable_path(path)}: {_explain_missing(path)}")


def _explain_missing(path: Path) -> str:
    """Explain why no file or folder is at a path, with the most similar name beside it or advice."""
    if os.path.lexists(path):
        return "it is neither a file nor a folder. Pass the path of a recording, or of a folder."
    return f"no such file or folder. {_suggest_path(path)}"


def _suggest_path(path: Path) -> str:
    with suppress(OSError):
        if near := get_close_matches(path.name, os.listdir(path.parent), 1):
            return f"Did you mean {printable_path(path.with_name(near[0]))!r}?"
    return "Pass the path of a recording, or of a folder."


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
