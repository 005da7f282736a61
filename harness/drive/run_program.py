"""Runs a program to its end, with everything that it has started."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

MAX_QUOTED = 2_000
"""How many characters at the end of a program's output an error quotes."""


class Ended(NamedTuple):
    """A program that has ended: its exit code, None after a timeout, and its output."""

    code: int | None
    output: str
    errors: str

    @property
    def end(self) -> str:
        """The end of what it printed, for an error."""
        return f"{self.output}\n{self.errors}".strip()[-MAX_QUOTED:]


def run_program(
    line: Sequence[str], seconds: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Ended:
    """Run a program in a group of its own, and end the whole group with it or after the timeout."""
    # A pipe would stay open as long as a process that the program leaves behind.
    with TemporaryFile() as output, TemporaryFile() as errors:
        with subprocess.Popen(
            line,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        ) as child:
            try:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(seconds)
                code = child.poll()
            finally:
                _kill(child)
        return Ended(code, _read(output), _read(errors))


def _read(printed: IO[bytes]) -> str:
    printed.seek(0)
    return printed.read().decode(errors="replace")


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
