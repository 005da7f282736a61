"""Makes programs of one command, a function of its options, as in `harness.cli`."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from harness.cli.program import exit_with_problem, to_typer


class _Program(TyperCommand):
    """A command; a HarnessError ends it with a message, as in `responses-harness`."""

    def invoke(self, ctx: Any) -> Any:
        with exit_with_problem():
            return super().invoke(ctx)


def make_program(command: Callable[..., None]) -> typer.Typer:
    """Make a program from a function of its options."""
    program = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    program.command(cls=_Program)(to_typer(command))
    return program
