"""A report in every form, by the suffix of its file; those of `github` are no file, they are printed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.report.model import Report

FORMAT_MODULES: Mapping[str, str] = {
    ".json": "json_file",
    ".html": "html",
    ".xml": "junit",
    ".sarif": "sarif",
    ".md": "markdown",
}
"""The module that writes a form: its `written(report)` is the whole text."""
ACTIONS_VARIABLE = "GITHUB_ACTIONS"
"""The environment variable that says that annotations are read."""
CHECKOUT_VARIABLE = "GITHUB_WORKSPACE"
"""The environment variable of the folder that code hosts name files from."""


def render_report(report: Report, suffix: str) -> str:
    """A report in the form of a suffix."""
    text: str = import_module(f"{__name__}.{FORMAT_MODULES[suffix]}").render(report)
    return text


def why_unwritable(file: Path) -> str:
    """Why no report can be written to a file; empty when one can."""
    if file.suffix not in FORMAT_MODULES:
        return f"its suffix must be one of {' '.join(FORMAT_MODULES)}."
    return "" if file.absolute().parent.is_dir() else f"there is no folder {file.parent}. Make it first."


def write_report(report: Report, file: Path, suffix: str) -> None:
    """Write a report to a file in the form of a suffix; ConfigError when it cannot be written."""
    try:
        file.write_text(render_report(report, suffix), encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"{file}: cannot be written: {problem.strerror}. Give another file.") from problem
