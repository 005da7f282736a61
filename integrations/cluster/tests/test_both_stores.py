"""The scenarios through a store: all of them pass, and every answer is that from memory."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.processes import run
from tests.support.servers.served import ROOT

pytestmark = pytest.mark.slow

QUIET = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
"""Each test's server ends with its connection to the store."""
AT_ONCE = "tests/scenarios/test_who_spoke.py::test_agents_at_the_same_time_keep_to_their_lanes"
"""Its requests come in any order."""


def answers(tmp_path: Path, store: str) -> dict[str, list[object]]:
    file = tmp_path / f"{bool(store)}.json"
    command = ("-m", "pytest", "-q", "-p", "through_store", "-n", "0", *QUIET, "--deselect", AT_ONCE, "tests/scenarios")
    path = os.pathsep.join(map(str, (ROOT, Path(__file__).parent)))
    env = {**os.environ, "HARNESS_TEST_STORE": store, "HARNESS_TEST_ANSWERS": str(file), "PYTHONPATH": path}
    run([sys.executable, *command], cwd=ROOT, env=env, timeout=200, check=True)
    return dict(json.loads(file.read_text()))


def test_scenarios_get_the_same_answers_from_both_stores(redis_port, tmp_path: Path):
    from_memory, from_store = answers(tmp_path, ""), answers(tmp_path, f"redis://127.0.0.1:{redis_port}/1")
    assert sum(map(len, from_memory.values())) > 100
    assert from_store == from_memory
