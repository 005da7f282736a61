"""What is learned from one half of real recordings, judged on the other half: fewer wrong refusals, and no new ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.shared import PRESENT, RECORDINGS


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not PRESENT, reason="the recordings are not part of the project")
def test_a_mock_that_has_forgotten_learns_what_it_forgot_and_refuses_nothing_new() -> None:
    (recordings,) = RECORDINGS[1].glob("*.jsonl.gz")
    command = [sys.executable, "-m", "bench.learn_halves", str(recordings), "--splits", "1", "--forget", "6"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900).stdout
    refused, after, known, known_after, new = map(int, printed.splitlines()[-1].split()[1:6])
    assert refused >= known > 20
    assert known_after == new == 0
    assert after == refused - known
