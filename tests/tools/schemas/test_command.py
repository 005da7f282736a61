"""`python -m tools.schemas`: makes the schemas, checks and compares them."""

from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import CliRunner, Result

from harness.contract import schema
from tools.schemas import sync
from tools.schemas.__main__ import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the schemas that commands work on."""
    copy = tmp_path / "schemas"
    copytree(schema.schemas_directory(), copy)
    monkeypatch.setattr(schema, "schemas_directory", lambda: copy)
    return copy


@pytest.mark.slow
def test_check_is_ok_or_fails_with_the_problems(schemas: Path) -> None:
    assert (run("--check").exit_code, run("--check").stdout) == (0, "ok\n")
    (schemas / "openai" / "Thread.json").write_text("{}")
    result = run("--check")
    assert result.exit_code == 1
    assert "openai/Thread.json is not what lock.json says" in result.stdout


@pytest.mark.slow
def test_diff_is_a_work_list(schemas: Path) -> None:
    assert run("--diff").stdout == "nothing changes\n"
    (schemas / "openai" / "Thread.json").unlink()
    result = run("--diff")
    assert result.exit_code == 0
    assert "Thread" in result.stdout


@pytest.mark.slow
def test_sync_writes_what_has_changed(schemas: Path) -> None:
    changed = schemas / "openai" / "Thread.json"
    before = changed.read_text()
    changed.write_text("{}")
    assert f"{changed}\n" in run("--sync").stdout
    assert changed.read_text() == before
    assert sync.check(schemas) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give exactly one of --sync, --check, --diff."),
        (["--check", "--diff"], "give exactly one of --sync, --check, --diff."),
        (["--check", "--openapi", "x"], "--openapi goes with --sync or --diff."),
    ],
)
def test_what_does_not_go_together(arguments: list[str], problem: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


@pytest.mark.slow
def test_a_document_that_is_not_there() -> None:
    result = run("--diff", "--openapi", "/nowhere.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("responses-harness: ")
    assert "/nowhere.json" in result.stderr
