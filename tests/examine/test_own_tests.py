"""Cases written as tests for pytest: they run, pass for a correct client and fail for a broken one."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import harness.examine.cases  # noqa: F401  (registers every case)
from harness.core.errors import ConfigError
from harness.examine.adapter import parse_mode
from harness.examine.case import CASES, ClientCase
from harness.examine.own_tests import render_tests, run_case
from harness.world.mock import Mock
from tests.support.examined import TARGET
from tests.support.processes import run

ROOT = Path(__file__).parents[2]
CHOSEN = ("answers/two-messages", "tools/parallel-calls", "answers/reasoning-first")


def write(folder: Path, adapter: str, known: dict[str, ClientCase] = CASES, ids: tuple[str, ...] = CHOSEN) -> str:
    text = render_tests({id: ["plain,replay", "stream,chain"] for id in ids}, known, adapter, "")
    (folder / "test_cases.py").write_text(text)
    return text


def outcome(folder: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cases.py"]
    return run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=100).stdout


def test_a_test_says_what_is_due_and_runs_its_case(tmp_path: Path) -> None:
    text = write(tmp_path, "openai")
    case = CASES["answers/two-messages"]
    for line in (
        '@pytest.mark.parametrize("mode", ["plain,replay", "stream,chain"])',
        "def test_answers_two_messages(mock, mode):",
        f'    """{case.title} ({case.severity}).',
        f"    Due: {case.shows}",
        '    run_case(mock, "answers/two-messages", mode, **CLIENT)',
    ):
        assert line in text.splitlines()


def test_every_case_can_be_written() -> None:
    text = render_tests({id: ["plain,replay"] for id in CASES}, CASES, "openai", "")
    compile(text, "test_cases.py", "exec")
    assert text.count("\ndef test_") == len(CASES)


def test_a_case_runs_in_this_process(mock: Mock) -> None:
    run_case(mock, "answers/two-messages", "plain,replay", adapter="openai")


@pytest.mark.parametrize(
    ("id", "told"),
    [
        ("answers/two-messages", 'without "I look it up.", which the model wrote'),
        ("errors/500-always", "reports success"),
    ],
)
def test_what_a_broken_client_does_differently_fails(mock: Mock, id: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        run_case(mock, id, "plain,replay", adapter=f"{TARGET}LastMessageOnly")


def test_a_mode_that_is_none() -> None:
    with pytest.raises(ConfigError, match="no mode 'stream'"):
        parse_mode("stream")


@pytest.mark.slow
class TestRunning:
    def test_a_correct_client_passes(self, tmp_path: Path) -> None:
        write(tmp_path, "openai")
        assert "6 passed" in outcome(tmp_path)

    def test_a_broken_client_fails(self, tmp_path: Path) -> None:
        write(tmp_path, f"{TARGET}LastMessageOnly")
        said = outcome(tmp_path)
        assert "2 failed, 4 passed" in said
        assert 'without "I look it up.", which the model wrote' in said

    def test_expected_refusals_are_marked(self, tmp_path: Path) -> None:
        known = {"answers/text": replace(CASES["answers/text"], refused=("model_missing",))}
        text = write(tmp_path, "openai", known, ("answers/text",))
        assert '@pytest.mark.harness(refusals=["model_missing"])' in text
