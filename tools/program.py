"""Makes programs of one command, whose function defines the command line, as in `harness.cli`."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from harness.cli.support.app import exit_with_problem


class _Program(TyperCommand):
    """A command; a HarnessError ends it with a message, as in `responses-harness`."""

    def invoke(self, ctx: Any) -> Any:
        with exit_with_problem():
            return super().invoke(ctx)


def make_program(command: Callable[..., None]) -> typer.Typer:
    """Make a program from a function whose parameters are declared for typer."""
    program = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    program.command(cls=_Program)(command)
    return program
