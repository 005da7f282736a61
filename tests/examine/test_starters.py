"""The adapters that `responses-harness examine --init` writes, and that the page about adapters shows, do what it says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

from harness.examine.adapters import STARTERS, starter_command, write_starter
from tests.support.command_line import run_cli

ROOT = Path(__file__).parents[2]


def init(folder: Path | str, *arguments: str) -> Result:
    return run_cli("examine", "--init", folder, *arguments)


def shell(command: str, cases: str, folder: Path) -> str:
    """Return what the printed command prints when it is pasted into a shell, for some cases."""
    own = command.replace("responses-harness examine", f"{sys.executable} -m harness examine")
    told = {**os.environ, "PYTHONPATH": str(ROOT)}
    pasted = f"{own} --cases '{cases}'"
    return subprocess.run(pasted, shell=True, cwd=folder, env=told, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.slow
def test_what_is_written_passes_when_the_printed_command_is_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = init("my tests")
    assert ended.exit_code == 0
    *_, command = ended.stdout.splitlines()
    assert command == "cd 'my tests' && responses-harness examine my_adapter:MyAdapter"
    lines = shell(command, "answers/text,tools/one-call,tools/parallel-calls,answers/refusal", tmp_path).splitlines()
    assert lines[0].startswith("openai ")
    assert lines[-1].split() == ["all", "4", "-", "-", "-", "-", "-"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_in_another_language(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    *_, command = init("my tests", "--language", "js").stdout.splitlines()
    lines = shell(command, "answers/text,answers/two-messages,answers/refusal,tools/one-call", tmp_path).splitlines()
    assert lines[-1].split() == ["all", "3", "-", "-", "-", "-", "1"]


def test_a_file_that_is_there_is_kept(tmp_path):
    for language, name in STARTERS.items():
        (tmp_path / name).write_text("mine")
        ended = init(tmp_path, "--language", language)
        assert ended.exit_code == 2
        assert f"{tmp_path / name} already exists and is kept. Choose another folder, or move it away." in ended.stderr
        assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_is_not_writable_is_reported(tmp_path):
    (tmp_path / "file").touch()
    ended = init(tmp_path / "file" / "folder")
    assert ended.exit_code == 2
    assert f"--init {tmp_path}/file/folder: cannot be written: Not a directory. Pass a folder that you" in ended.stderr


def test_the_command_is_one_for_the_folder_where_it_was_written():
    assert starter_command(Path("my_adapter.py")) == "responses-harness examine my_adapter:MyAdapter"
    assert starter_command(Path("a/my_adapter.mjs")) == "responses-harness examine --command 'node a/my_adapter.mjs'"


def test_folders_are_made(tmp_path):
    assert write_starter(tmp_path / "a" / "b", "python").read_bytes()
