"""The command that a cassette names as the one that recorded it, when tests do."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.cassettes.format.interaction import PYTEST_COMMAND, CassetteHeader
from harness.cassettes.recording.writer import read_cassette


def recording_header(path: Path, mode: str, test: str) -> CassetteHeader:
    """The header of a cassette that a test (its id in pytest) records: the command names all tests that recorded it."""
    known = read_cassette(path).header if mode == "new" and path.exists() else None
    words = shlex.split(known.command) if known else []
    before = words[len(PYTEST_COMMAND) :] if tuple(words[: len(PYTEST_COMMAND)]) == PYTEST_COMMAND else []
    return CassetteHeader(command=shlex.join([*PYTEST_COMMAND, *dict.fromkeys([*before, test.partition("[")[0]])]))
