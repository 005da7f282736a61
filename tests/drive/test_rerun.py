"""A pytest test that runs again elsewhere: with which Python, and what is said if it does not run."""

import sys
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.drive.run_program import python_with, rerun_test
from harness.viewer.trace import SUFFIX, read_trace

PASSING = """
def test_it(mock, openai_client):
    mock.script("Hi.")
    openai_client.responses.create(model="gpt-4.1", input="hi")
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_environment_takes_the_place_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "fixed" / "bin").mkdir(parents=True)
    (tmp_path / "fixed" / "bin" / "python").touch()
    assert python_with(["fixed"]) == ["fixed/bin/python"]
    (tmp_path / "openai").mkdir()
    assert python_with(["openai"])[6:8] == ["--with", "openai"]
    command = python_with(["openai==2.44.0", "./fixed", "httpx<1"])
    assert command[1:] == [
        *("run", "--quiet", "--no-project", "--python", "fixed/bin/python"),
        *("--with", "openai==2.44.0", "--with", "httpx<1", "--", "python"),
    ]
    assert python_with(["openai==2.44.0"])[5] == sys.executable


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="pip install uv"):
        python_with(["openai==2.44.0"])
    with pytest.raises(ConfigError, match=r"test_none\.py: no such file here"):
        rerun_test("test_none.py::test_it", ["./none"], tmp_path)


@pytest.mark.slow
def test_the_trace_of_the_run_is_returned(tmp_path: Path) -> None:
    Path("test_a.py").write_text(PASSING)
    trace = read_trace(rerun_test("test_a.py::test_it", [sys.prefix], tmp_path / "traces"))
    assert (trace.case.row.id, trace.case.row.outcome) == ("test_a.py::test_it", "passed")


@pytest.mark.parametrize("traces", ["", "a b"])
def test_a_test_that_does_not_leave_one_trace_is_an_error_that_quotes_the_run(traces: str, tmp_path: Path) -> None:
    Path("test_a.py").touch()
    python, folder = tmp_path / "other/bin/python", tmp_path / "traces"
    python.parent.mkdir(parents=True)
    writing = f"for name in {traces}; do echo > {folder}/$name{SUFFIX}; done" if traces else ""
    python.write_text(f'#!/bin/sh\nmkdir {folder}\n{writing}\necho "1 passed"\n')
    python.chmod(0o755)
    with pytest.raises(ConfigError, match=r"no test with the mock ran with other.*\n1 passed$"):
        rerun_test("test_a.py::test_it", ["other"], folder)


@pytest.mark.slow
def test_a_run_that_does_not_end_is_an_error_that_quotes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("test_a.py").write_text("import time\nprint('It begins.', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr("harness.drive.run_program.SECONDS", 3)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-s")
    with pytest.raises(ConfigError, match=r"test_a\.py::test_it did not end within 3 s") as refused:
        rerun_test("test_a.py::test_it", [sys.prefix], tmp_path)
    assert "It begins." in str(refused.value)
