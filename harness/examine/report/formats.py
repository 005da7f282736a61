"""The forms of results by the suffix of their files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from harness.core.errors import ConfigError
from harness.core.text.printable import escape_controls
from harness.examine.report.results import ExaminationResults
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error, open_replacement

RESULT_FORMATS: Mapping[str, str] = {
    ".json": "json_results",
    ".html": "html",
    ".md": "markdown",
    ".xml": "junit",
}
"""The module of each form, whose `render(results)` returns the text."""


def check_writable(file: Path) -> None:
    """ConfigError when no report can be written to a file."""
    if file.suffix not in RESULT_FORMATS:
        raise ConfigError(f"--report {file}: its suffix must be one of {' '.join(RESULT_FORMATS)}.")
    if not file.absolute().parent.is_dir():
        raise ConfigError(f"--report {file}: there is no folder {file.parent}. Make it first.")


def render_results(results: ExaminationResults, suffix: str) -> str:
    """Results in the form of a suffix, control characters as escapes."""
    return escape_controls(import_module(f"harness.examine.report.{RESULT_FORMATS[suffix]}").render(results))


def write_results(results: ExaminationResults, file: Path) -> None:
    """Write results to a file in the form of its suffix; ConfigError when it cannot be written: the old one stays."""
    content = render_results(results, file.suffix).encode()
    try:
        with open_replacement(file) as out:
            out.write(content)
    except OSError as problem:
        fix = WRITE_ERROR_FIXES.get(problem.errno or 0, "Give another file")
        raise ConfigError(f"{file}: cannot be written: {describe_write_error(problem)}. {fix}.") from problem
