"""Runs a program to its end, with everything that it has started; so a pytest test runs again with another release."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from harness.core.errors import ConfigError

MAX_QUOTED = 2_000
"""How many characters at the end of a program's output an error quotes."""
MAX_READ = 1 << 24
"""How many bytes at the end of what a program printed are read."""


class Ended(NamedTuple):
    """A program that has ended: its exit code, None after a timeout, and its output."""

    code: int | None
    output: str
    errors: str

    @property
    def end(self) -> str:
        """The end of its output, as an error quotes it."""
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
    printed.seek(max(0, printed.seek(0, os.SEEK_END) - MAX_READ))
    return printed.read().decode(errors="replace")


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()


SECONDS = 600
"""How long the test may take, and the installation before it."""
_PYTHONS = ("bin/python", "Scripts/python.exe")


def rerun_test(test: str, releases: Sequence[str], folder: Path) -> Path:
    """Run a test by its node id with some releases, and return its trace, written to `folder`.

    A release is a requirement, such as `openai==2.44.0`, which uv puts above the packages of this environment; or the
    folder of an environment, which takes the place of this one. ConfigError if the test does not run, or needs no mock.
    """
    from harness.viewer.trace import list_traces

    file = test.partition("::")[0]
    if not Path(file).is_file():
        raise ConfigError(
            f"--with: {file}: no such file here. Run the command in the folder from which pytest names its "
            "tests; anything but a pytest test becomes one with --write-test FILE."
        )
    options = ["-q", "--harness-trace=all", f"--harness-trace-dir={folder}"]
    line = [*python_with(releases), "-m", "pytest", test, *options]
    ended = run_program(line, SECONDS)
    named = ", ".join(releases)
    if ended.code is None:
        raise ConfigError(f"{test} did not end within {SECONDS} s with {named}. Its output ends with:\n{ended.end}")
    traces = list(list_traces([folder]))
    if len(traces) != 1:
        raise ConfigError(f"{test}: no test with the mock ran with {named}. Its output ends with:\n{ended.end}")
    return traces[0]


def python_with(releases: Sequence[str]) -> list[str]:
    """Return the beginning of a command line: a Python that has these releases; ConfigError if uv is needed and missing."""
    python, requirements = sys.executable, []
    for release in releases:
        pythons = [str(Path(release, name)) for name in _PYTHONS if Path(release, name).exists()]
        python = pythons[0] if pythons else python
        requirements += [] if pythons else [release]
    if not requirements:
        return [python]
    beside = Path(sys.executable).with_name("uv")
    if not (uv := str(beside) if beside.exists() else shutil.which("uv")):
        raise ConfigError("--with: uv installs the release, and is not there: pip install uv. Or pass an environment.")
    packages = [part for requirement in requirements for part in ("--with", requirement)]
    return [uv, "run", "--quiet", "--no-project", "--python", python, *packages, "--", "python"]
