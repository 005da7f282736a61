"""The formats of a report, one module and one entry in `FORMATS` each; `github` writes no file, its lines are printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from harness.core.errors import ConfigError
from harness.core.registry import Registry
from harness.core.text.printable import escape_controls
from harness.report.replace_file import explain_write_errors, open_replacement

ACTIONS_VARIABLE = "GITHUB_ACTIONS"
"""The environment variable that says whether annotations are read."""
CHECKOUT_VARIABLE = "GITHUB_WORKSPACE"
"""The environment variable of the folder to which code hosts relate the names of files."""


class ReportFormat(NamedTuple):
    """How reports are written: `render(report)` of `module` returns the text; `option` and `help` are for the command line.

    The module is imported when a report is rendered, so that the plugin can list the suffixes without the cost.
    """

    module: str
    option: str = ""
    help: str = ""
    package: str = __name__

    def render(self, report: Any) -> str:
        """Render a report in this format."""
        text: str = import_module(f"{self.package}.{self.module}").render(report)
        return text


FORMATS: Registry[ReportFormat] = Registry("report format")
"""Every format by the suffix of its files."""

FORMATS.add(".json", ReportFormat("json_file", "json", "Write JSON; - is stdout."))
FORMATS.add(".html", ReportFormat("page", "html", "Write one page that needs no network.", "harness.viewer"))
FORMATS.add(".xml", ReportFormat("junit", "junit", "Write JUnit XML."))
FORMATS.add(".sarif", ReportFormat("sarif", "sarif", "Write SARIF, for code hosts."))
FORMATS.add(".md", ReportFormat("markdown", "markdown", "Write Markdown, for the summary of a job."))

PAGE = ".html"
"""The format that shows cases whole: who makes one gives each case its `view`."""
APPENDED = ".md"
"""The format of a file without a suffix, which is appended: the summary of a job in GitHub Actions is such a file."""


def render_report(report: Any, suffix: str, formats: Mapping[str, ReportFormat] = FORMATS) -> str:
    """Render a report in the format of a suffix, control characters as escapes: who shows the file may be a terminal."""
    return escape_controls(formats[suffix or APPENDED].render(report))


def why_unwritable(file: Path, formats: Mapping[str, ReportFormat] = FORMATS) -> str:
    """Say why no report can be written to a file; empty when one can."""
    if not file.suffix and file.is_dir():
        return "it is a folder. Name a file; a variable that is not set names none."
    if file.suffix and file.suffix not in formats:
        return f"its suffix must be one of {' '.join(formats)}."
    return "" if file.absolute().parent.is_dir() else f"there is no folder {file.parent}. Make it first."


def is_page(file: Path) -> bool:
    """Return whether a report in this file shows its cases whole."""
    return file.suffix == PAGE


def check_writable(files: Iterable[Path]) -> None:
    """Raise a ConfigError for a file of `--report` that no report can be written to."""
    for file in files:
        if why := why_unwritable(file):
            raise ConfigError(f"--report {file}: {why}")


def write_report(report: Any, file: Path, suffix: str, formats: Mapping[str, ReportFormat] = FORMATS) -> None:
    """Write a report to a file in the format of a suffix; ConfigError when it cannot be written: the old one stays.

    Without a suffix it is appended.
    """
    content = render_report(report, suffix, formats).encode()
    with (
        explain_write_errors(str(file), "Give another file"),
        open_replacement(file) if suffix else file.open("ab") as out,
    ):
        out.write(content)
