"""The command line, in this process and as one of its own."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner, Result

from harness.cli import app
from tests.support.processes import spawn

ROOT = Path(__file__).parents[2]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_cli(*arguments: str | Path | int, **environment: str) -> Result:
    """Run `responses-harness` with these arguments, and these environment variables besides."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


@contextlib.contextmanager
def run_beside(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run `python -m harness` with these arguments as a child process; what it leaves open is an error there."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::ResourceWarning"}
    with spawn([sys.executable, "-m", "harness", *arguments], env=env) as child:
        yield child
