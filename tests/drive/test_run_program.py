"""A program that is run to its end, or killed with what it has started."""

import sys
from pathlib import Path

import pytest

from harness.drive.run_program import MAX_QUOTED, Ended, run_program
from tests.support.processes import wait_until
from tests.support.slow import slow_except


@pytest.mark.parametrize(
    ("sleeps", "seconds", "code"), slow_except([0], [("0", 60, 0), ("60", 3, None)]), ids=["ended", "given up"]
)
def test_nothing_is_left_of_a_program(sleeps: str, seconds: int, code: int | None) -> None:
    ended = run_program(["sh", "-c", f"sleep 60 & echo $!; sleep {sleeps}"], seconds)
    assert ended.code == code
    assert wait_until(lambda: not Path("/proc", ended.output.strip()).exists())


def test_the_end_of_what_was_printed_is_quoted() -> None:
    assert Ended(1, "one\n", "two\n").end == "one\n\ntwo"
    assert len(Ended(1, "x" * 5_000, "").end) == MAX_QUOTED


def test_of_endless_output_the_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.drive.run_program.MAX_READ", 100)
    assert run_program([sys.executable, "-S", "-c", "print('x' * 5_000 + 'end')"], 60).output == f"{'x' * 96}end\n"
