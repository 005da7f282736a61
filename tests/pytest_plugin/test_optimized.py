"""Python without docstrings (`-OO`) is refused by name, and Python without `assert` (`-O`) changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import run

ROOT = Path(__file__).parents[2]
TESTS = """
def test_without_the_mock():
    pass

def test_with_the_mock(mock):
    pass
"""


def run_python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONOPTIMIZE", None)
    return run([sys.executable, *words], cwd=folder, env=env)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


@pytest.mark.slow
def test_tests_that_do_not_use_the_mock_pass_and_others_say_why(folder: Path) -> None:
    ended = run_python(folder, "-OO", "-m", "pytest", "-p", "no:cacheprovider")
    assert "responses-harness is off: Python runs with -OO" in ended.stdout
    assert "= 1 passed, " in ended.stdout
    assert " 1 error in " in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_a_command_says_why_in_a_line(folder: Path) -> None:
    ended = run_python(folder, "-OO", "-m", "harness", "rules")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("responses-harness: Python runs with -OO, which removes the docstrings")
    assert len(ended.stderr.splitlines()) == 1


def test_an_import_says_why(folder: Path) -> None:
    ended = run_python(folder, "-OO", "-c", "from harness import Mock")
    assert ended.stderr.splitlines()[-1].startswith("ImportError: Python runs with -OO")


@pytest.mark.slow
def test_without_assert_a_cassette_still_refuses_other_requests(folder: Path) -> None:
    """The matchers of vcrpy are asserted in plain code, as `-O` drops `assert`."""
    code = (
        "from harness.cassettes.format.interaction import CassetteHeader, Interaction\n"
        "from harness.cassettes.recording.vcr import CassetteSession\n"
        "from vcr.request import Request\n"
        "session = CassetteSession.__new__(CassetteSession)\n"
        "session._comparable = lambda request: request\n"
        "import harness.cassettes.recording.vcr as vcr\n"
        "vcr.diff_requests = lambda known, wanted: ['they differ']\n"
        "try:\n    session.match_request('one', 'other')\n"
        "except AssertionError as problem:\n    print(problem)\n"
    )
    assert run_python(folder, "-O", "-c", code).stdout == "they differ\n"
