"""Options of `harness serve` that do not go together are refused: none is given in vain."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import typer

from harness.cli import app
from harness.cli.serve_options import REPLAY_OPTIONS, ServeOptions
from tests.support.command_line import run_cli


def refusal(*arguments: str) -> str:
    """What is said of arguments that are refused before anything is served."""
    ended = run_cli("serve", *arguments)
    assert ended.exit_code == 2, ended.output
    return " ".join(word for word in ended.stderr.split() if word != "│")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--assistants", "gone"), ("--store-seconds", "5"), ("--control-token", "x"), ("--keys", "sk-a")),
        *(("--workers", "2"), ("--refusals", "allow"), ("--log", "text"), ("--script", "a.yaml")),
    ],
)
def test_a_replay_takes_no_option_of_the_mock(option: str, value: str, tmp_path: Path) -> None:
    assert f"give it with --host, --port, --paced and TLS alone, without {option}." in refusal(
        "--replay", str(tmp_path), option, value
    )


def test_a_replay_takes_no_command(tmp_path: Path) -> None:
    assert "without -- COMMAND" in refusal("--replay", str(tmp_path), "--", "true")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--paced",), "--paced is the pace of recordings: give --replay DIR, too."),
        (("--store-seconds", "5"), "--store-seconds: it is for a shared --store"),
        (("--metrics", "--", "true"), "--metrics is for a server without one"),
        (("--refusals", "unknown_paramter"), "no rule and no area is called 'unknown_paramter'. Did you mean"),
        (("--refusals", "tools,toolz"), "no rule and no area is called 'toolz'."),
        (
            ("--client", "no-backoff,no-backof"),
            "--client no-backof: give strict, allow, or what clients may do. Did you mean",
        ),
    ],
)
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(*arguments)


def test_every_option_is_a_field_and_those_of_a_replay_are_some_of_them() -> None:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    names = {parameter.name for parameter in command.params} - {"help"}
    assert names == {field.name for field in fields(ServeOptions)}
    assert names > REPLAY_OPTIONS
