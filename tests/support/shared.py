"""The recorded evidence the contract is measured against, where it is present; it is not part of the project."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.format.recorded import Recorded
from harness.verify.read_files import read_recording

SHARED = Path(__file__).resolve().parents[3] / "shared"
RECORDINGS = (SHARED / "corpus", SHARED / "corpus-2")
"""The folders of recorded traffic."""
FOUNDRY_RECORDINGS = SHARED / "foundry"
"""The folder of recorded traffic of Foundry projects."""
PRESENT = (SHARED / "contract" / "rejects.json").is_file()
READS_RECORDINGS = [pytest.mark.slow, pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")]
"""The marks of tests that read all recordings: seconds each, and no clone has them."""


@cache
def rejects() -> list[dict[str, Any]]:
    """Real errors with the request that caused each."""
    return json.loads((SHARED / "contract" / "rejects.json").read_text())["examples"] if PRESENT else []


@cache
def accepts() -> list[dict[str, Any]]:
    """Bodies that the API accepted."""
    return json.loads((SHARED / "contract" / "accepts.json").read_text())["accepts"] if PRESENT else []


def recordings() -> Iterator[Recorded]:
    """Every recorded exchange as `verify` reads it, in the order of the files."""
    for folder in RECORDINGS:
        for file in sorted(folder.glob("*.jsonl.gz")):
            yield from read_recording(file)


def exchanges() -> Iterator[dict[str, Any]]:
    """Every recorded exchange, in the order of the files."""
    for folder in RECORDINGS:
        yield from exchanges_below(folder)


def exchanges_below(folder: Path) -> Iterator[dict[str, Any]]:
    """Every recorded exchange of a folder, in the order of the files."""
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            yield from map(json.loads, lines)
