"""A program that is run to its end, or killed with what it has started."""

import sys
import time
from pathlib import Path

import pytest

from harness.drive.run_program import MAX_QUOTED, Ended, run_program

LEAVES_A_CHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2); open('late.txt', 'w')"], stdout=subprocess.DEVNULL)
print("begun", flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("sleeps", "code"), [("0", 0), ("60", None)])
def test_nothing_is_left_of_a_program(sleeps: str, code: int | None, tmp_path: Path) -> None:
    ended = run_program([sys.executable, "-c", LEAVES_A_CHILD, sleeps], 1.5, tmp_path, {"PATH": ""})
    assert (ended.code, ended.output) == (code, "begun\n")
    time.sleep(2.5)
    assert not (tmp_path / "late.txt").exists()


def test_the_end_of_what_was_printed_is_quoted() -> None:
    assert Ended(1, "one\n", "two\n").end == "one\n\ntwo"
    assert len(Ended(1, "x" * 5_000, "").end) == MAX_QUOTED


def test_of_endless_output_the_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.drive.run_program.MAX_READ", 100)
    assert run_program([sys.executable, "-S", "-c", "print('x' * 5_000 + 'end')"], 60).output == f"{'x' * 96}end\n"
