"""`harness check` finds scripts that cannot be used and recordings that hold secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import run_cli

ROOT = Path(__file__).parents[2]
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
CASSETTE = """interactions:
- request: {method: POST, uri: https://api.openai.com/v1/responses, body: '{"input": "KEY"}', headers: {}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: '{}'}}
version: 1
"""


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", "script:\n- mesage: hi\n", "a.yaml:2: no item 'mesage'. Did you mean 'message'?"),
        ("a.py", "script = []\n", "is empty"),
        ("a.txt", "hello", "not a script"),
        ("tape.yaml", CASSETTE.replace("KEY", KEY), "tape.yaml: line 2: what has the form of a key"),
        ("tape.jsonl", f'{{"a": 1}}\n{{"request": {{"input": "{KEY}"}}}}\n', "tape.jsonl:2: "),
        ("tape.har", f'{{"log": {{"entries": [{{"text": "{KEY}"}}]}}}}', "tape.har: "),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, name: str, text: str, told: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    done = run_cli("check", file)
    assert done.exit_code == 1
    assert told in done.stdout
    assert KEY not in done.stdout


def test_what_is_right_is_counted(tmp_path: Path) -> None:
    script, tape = tmp_path / "a.yaml", tmp_path / "tape.yaml"
    script.write_text("script:\n- message: hi\n", encoding="utf-8")
    tape.write_text(CASSETTE.replace("KEY", "Weather?"), encoding="utf-8")
    done = run_cli("check", script, tape, ROOT / "tests/cassettes/test_weather.yaml")
    assert (done.exit_code, done.stdout) == (0, "3 checked\n")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    done = run_cli("check", tmp_path / "none.yaml")
    assert done.exit_code == 2
    assert "none.yaml: cannot be read" in done.stderr
