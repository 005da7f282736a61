"""No text of a recording steers a terminal: control characters are printed as escapes."""

import ast
import json
import sys
from pathlib import Path

import pytest

import harness.cli
from harness.cli.program import make_console, print_json
from harness.explain.render import render_diagram, render_section, render_verdict
from harness.world.mock import Mock
from tests.support.command_line import Terminal, run_cli
from tests.support.recordings import HI, exchange, recorded, write_jsonl
from tests.support.reports import ask, make_mock
from tests.support.servers.live_api import live

EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202eevil\u2066\x7f\r\x08"
CONTROLS = set(EVIL) - set("]0;pwned[2J31mevil")
CLI = Path(harness.cli.__file__).parent


def hostile(tmp_path: Path) -> Path:
    """Return a recording that has control characters wherever it has a text, and its file in its name."""
    (good,) = recorded(HI)
    bad = {**good, "id": f"p/{EVIL}#1", "request": {**HI, EVIL: EVIL, "input": EVIL}}
    refused = exchange(2, HI, 400, {"error": {"message": EVIL, "type": EVIL, "param": EVIL, "code": EVIL}})
    other = exchange(3, HI, 200, {"id": "resp_1", "object": "response", "status": EVIL, EVIL: EVIL})
    elsewhere = {**exchange(4, HI, 200, {}), "url": f"https://{EVIL}.example/v1/responses"}
    return write_jsonl(tmp_path, [good, bad, refused, other, elsewhere], name=f"a{EVIL}.jsonl")


def say(*arguments: str | Path) -> str:
    result = run_cli(*arguments)
    assert result.exit_code in (0, 1, 2), result.exception
    return result.stdout + result.stderr


@pytest.mark.slow
def test_every_command_escapes_them(tmp_path: Path) -> None:
    file = hostile(tmp_path)
    with live() as (url, _):
        commands: list[list[str | Path]] = [
            ["verify", file, "-v", "--report", tmp_path / "report.json"],
            ["verify", file, "--json", "-"],
            ["cassettes", file],
            ["cassettes", file, "--json"],
            ["drift", file, "--upstream", url, "--yes"],
            ["drift", file, "--upstream", url, "--yes", "--json"],
            ["report", tmp_path / "report.json"],
            *(["report", tmp_path / "report.json", f"--{form}", "-"] for form in ("json", "sarif", "markdown")),
            ["verify", tmp_path / f"gone{EVIL}"],
        ]
        for command in commands:
            said = say(*command)
            assert not CONTROLS & set(said), command
    assert "\\u001b" in say("verify", file)


def test_what_is_printed_as_json_is_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": EVIL})
    printed = capsys.readouterr().out
    assert not CONTROLS & set(printed)
    assert json.loads(printed) == {"a": EVIL}


def test_a_terminal_gets_only_the_escapes_of_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    make_console().print(f"[{EVIL}]", style="bold")
    assert "\\u001b]0;pwned\\u0007" in terminal.getvalue()
    assert "\x1b]" not in terminal.getvalue()
    assert "\x9b" not in terminal.getvalue()


def test_the_sections_of_a_failed_test_escape_them() -> None:
    mock = make_mock()
    ask(mock, EVIL, **{EVIL: EVIL})
    (world,) = mock.worlds.values()
    shown = [render_verdict(world), render_section(world, [], verbose=True), render_diagram(world)]
    assert "\\u001b" in shown[1]
    assert not CONTROLS & set("".join(shown))
    assert Mock(world).exchanges


def test_commands_print_in_one_place_only() -> None:
    calls = [
        f"{file.name}:{node.lineno}"
        for file in CLI.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if file.name != "program.py"
        and isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("typer.echo", "print")
    ]
    assert calls == []
