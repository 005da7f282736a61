"""The command line in this process."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from harness.cli import app


def run_cli(*arguments: str | Path | int, **environment: str) -> Result:
    """Run `harness` with these arguments, and these environment variables besides."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)
