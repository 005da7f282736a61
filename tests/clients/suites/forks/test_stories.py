"""The trace that each story leaves in the affected release is forked to the fixed one, and turns green by one command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.cells import found
from tests.clients.environments import prepared, python_of

SUITES = Path(__file__).parent.parent
STORIES = [
    ("citations", "test_citations.py::test_sequential_streamed[openai]", "affected", "fixed", 1),
    (
        "assistants_citations",
        "test_assistants_citations.py::test_openai_surfaces_the_citation[delta]",
        "affected",
        "fixed",
        4,
    ),
    ("hermes", "test_hermes.py::test_chain", "0.19.0", "right", 0),
    ("approval_thread", "test_approval_thread.py::test_user_stays_on_his_thread[openai]", "affected", "fixed", 1),
    ("tracker", "test_tracker.py::test_auto_previous_response_id[run]", "0.17.6", "0.17.7", 2),
]
"""The suite of each story, a test that shows the bug, the environments without and with its fix, the requests kept."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=SUITES, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("suite", "test", "affected", "fixed", "kept"), STORIES, ids=[story[0] for story in STORIES])
def test_a_story_turns_green(
    suite: str, test: str, affected: str, fixed: str, kept: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cache = request.config.getoption("--node-modules").parent.parent
    [story] = found([suite])
    made = {each.name: prepared(each, cache) for each in story.environments if each.name in (affected, fixed)}
    [red] = [python_of(each, made[affected]) for each in story.environments if each.name == affected]
    options = ["--harness-trace=all", f"--harness-trace-dir={tmp_path}"]
    before = run(str(red), "-m", "pytest", f"{suite}/{test}", *options)
    assert before.returncode == 1, before.stdout
    command = ["view", str(tmp_path), "--fork", str(kept), "--with", str(made[fixed])]
    ended = run(sys.executable, "-m", "harness", *command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"better: {suite}/{test} (failed → passed)" in ended.stdout
