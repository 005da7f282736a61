"""Makes the command of a cassette that tests recorded."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.cassettes.format.interaction import PYTEST_COMMAND, CassetteHeader
from harness.cassettes.recording.writer import read_cassette


def recording_header(path: Path, mode: str, test: str) -> CassetteHeader:
    """Make the header of a cassette that a test (its id in pytest) records, with the command of all such tests."""
    known = read_cassette(path).header if mode == "new" and path.exists() else None
    words = shlex.split(known.command) if known else []
    before = words[len(PYTEST_COMMAND) :] if tuple(words[: len(PYTEST_COMMAND)]) == PYTEST_COMMAND else []
    return CassetteHeader(command=shlex.join([*PYTEST_COMMAND, *dict.fromkeys([*before, test.partition("[")[0]])]))
