"""Runs a pytest test again in an environment of its own, with another release of a package, and keeps its trace."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.errors import ConfigError
from harness.drive.run_program import run_program

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
