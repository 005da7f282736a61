"""Options of `responses-harness serve` that do not go together are refused: none is given in vain."""

from dataclasses import fields

import typer

from harness.cli import app
from harness.cli.serve_options import REPLAY_OPTIONS, ServeOptions


def test_every_option_is_a_field_and_those_of_a_replay_are_some_of_them() -> None:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    names = {parameter.name for parameter in command.params} - {"help"}
    assert names == {field.name for field in fields(ServeOptions)} - {"context"}
    assert names > REPLAY_OPTIONS
