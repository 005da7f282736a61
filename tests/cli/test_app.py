"""What every command prints: whole sentences in its help, the nearest name, nothing but text into a pipe, completion."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.support.app import make_console, print_page, print_rows
from tests.support.command_line import Terminal, run_cli
from tests.support.processes import run as run_child
from tests.support.slow import slow_except_every

ROOT = Path(__file__).parents[2]
COMMANDS: dict[str, Any] = {
    name: command for name, command in vars(typer.main.get_command(app))["commands"].items() if not command.hidden
}
LISTS = [
    ["rules"],
    ["losses"],
    ["rules", "--coverage"],
    ["rules", "unknown_parameter"],
    ["losses", "text-altered"],
    ["models"],
    ["models", "gpt-5.4"],
    ["models", "--coverage"],
]
LISTS += [["cassettes", str(ROOT / "cassettes")], ["verify", str(ROOT / "tests/cassettes")], ["demo"]]


def say(*arguments: str, columns: int = 80) -> str:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, arguments)
    assert result.exit_code in (0, 1, 2), result.exception
    return result.stdout + result.stderr


class TestHelp:
    @pytest.mark.parametrize("columns", [50, 80])
    def test_every_command_is_summed_up_in_a_whole_sentence(self, columns: int) -> None:
        said = " ".join(say("--help", columns=columns).partition("Commands:")[2].split())
        assert "..." not in said
        for name, command in COMMANDS.items():
            first = " ".join(command.help.split("\n\n")[0].split())
            assert f"{name} {re.split(r'(?<=[.?]) ', first)[0].removesuffix('.')}" in said

    @pytest.mark.parametrize("name", COMMANDS)
    def test_no_text_of_an_option_is_cut(self, name: str) -> None:
        said = say(name, "--help")
        assert max(map(len, said.splitlines())) <= 80
        for parameter in COMMANDS[name].params:
            assert "".join((parameter.help or "").split()) in "".join(said.split())


class TestPipes:
    @pytest.mark.parametrize("arguments", slow_except_every(4, LISTS), ids=" ".join)
    def test_nothing_ends_in_blanks(self, arguments: list[str]) -> None:
        said = say(*arguments)
        assert len(said.splitlines()) > 3
        assert [line for line in said.splitlines() if line != line.rstrip()] == []

    def test_json_in_a_page_stays_in_one_piece(self, capsys: pytest.CaptureFixture[str]) -> None:
        example = json.dumps({"input": "long " * 4000})
        print_page("title", "doc", [("Refused", [example])])
        assert json.loads(capsys.readouterr().out.splitlines()[-1]) == json.loads(example)

    def test_json_stays_in_one_piece_on_a_terminal_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setattr(sys, "stdout", shown := Terminal())
        example = json.dumps({"input": "a b " * 40})
        print_page("title", "doc", [("Refused", [example, "words " * 20])])
        assert f"\n  {example}\n  words" in shown.getvalue()
        assert shown.getvalue().count("\n  words") > 1

    def test_a_long_row_stays_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_rows([{"id": "a", "summary": "word " * 900 + "end"}, {"id": "long-id", "summary": "b"}], as_json=False)
        header, first, second = capsys.readouterr().out.splitlines()
        assert (header, first[-3:], second) == ("id       summary", "end", "long-id  b")

    def test_stderr_is_a_pipe_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
        make_console(stderr=True).print("x" * 500 + "  ")
        assert piped.getvalue() == "x" * 500 + "\n"


class TestUnknownNames:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        slow_except_every(
            4,
            [
                (["rules", "nosuch"], "'. `responses-harness rules` lists them."),
                (["rules", "outpt_needs_call"], "Did you mean 'output_needs_call'?"),
                (
                    ["rules", "tool", "chioce"],
                    "no rule contains all of 'tool', 'chioce'. 'chioce' is in none. Did you mean 'choice'?",
                ),
                (["rules", "duplicate_item", "body_unicode"], "Each is in some rule; use fewer."),
                (["models", "gpt-5.4-mni"], "no model 'gpt-5.4-mni'. Did you mean 'gpt-5.4-mini'?"),
                (["losses", "nosuch"], "no loss 'nosuch'. The nearest of "),
                (["losses", "text-alterd"], "Did you mean 'text-altered'?"),
                (["cassettes", "tests/casettes"], "no such file or folder. Did you mean 'tests/cassettes'?"),
                (["verify", "README.m"], "no such file or folder. Did you mean 'README.md'?"),
                (["drift", "nosuch"], "nosuch: no such file or folder. Pass the path of a recording"),
                (["report", "nosuch.json"], "nosuch.json: cannot be read: No such file or directory."),
                (["models", "--covrage"], "--coverage"),
            ],
        ),
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_get_the_nearest_in_one_short_message(
        self, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(ROOT)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        result = run_cli(*arguments)
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.split())
        assert len(result.stderr) < 600


class TestCompletion:
    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("responses-harness rules call_n", ["call_needs_output"]),
            ("responses-harness rules --area pair", ["pairing"]),
            ("responses-harness models gpt-5.4-m", ["gpt-5.4-mini", "gpt-5.4-mini-2026-03-17"]),
            ("responses-harness losses text-", ["text-altered", "text-edited"]),
            ("responses-harness verify --resp", ["--respell"]),
            ("harness cass", ["cassettes"]),
        ],
    )
    def test_names_are_completed(self, typed: str, completed: list[str]) -> None:
        asked = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        result = CliRunner(env=asked).invoke(app, [], prog_name="harness")
        assert result.stdout.split() == completed

    def test_the_script_of_the_shell_is_shown(self) -> None:
        command = f"{shlex.quote(sys.executable)} -m harness --show-completion; exit $?"
        said = run_child(["bash", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True).stdout
        assert "complete -o default -F _responses_harness_completion responses-harness" in said
