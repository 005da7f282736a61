"""The formats of a report, one module and one entry in `FORMATS` each; `github` writes no file, its lines are printed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.core.errors import ConfigError
from harness.core.registry import Registry
from harness.core.text.printable import escape_controls
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error, open_replacement

if TYPE_CHECKING:
    from harness.report.report import Report

ACTIONS_VARIABLE = "GITHUB_ACTIONS"
"""The environment variable that says whether annotations are read."""
CHECKOUT_VARIABLE = "GITHUB_WORKSPACE"
"""The environment variable of the folder to which code hosts relate the names of files."""


class ReportFormat(NamedTuple):
    """How reports are written: `render(report)` of `module` returns the text; `option` and `help` are for the command line.

    The module is imported when a report is rendered, so that the plugin can list the suffixes without the cost.
    """

    module: str
    option: str
    help: str

    def render(self, report: Report) -> str:
        """The report in this format."""
        text: str = import_module(f"{__name__}.{self.module}").render(report)
        return text


FORMATS: Registry[ReportFormat] = Registry("report format")
"""Every format by the suffix of its files."""

FORMATS.add(".json", ReportFormat("json_file", "json", "Write JSON; - is stdout."))
FORMATS.add(".html", ReportFormat("html", "html", "Write one page that needs no network."))
FORMATS.add(".xml", ReportFormat("junit", "junit", "Write JUnit XML."))
FORMATS.add(".sarif", ReportFormat("sarif", "sarif", "Write SARIF, for code hosts."))
FORMATS.add(".md", ReportFormat("markdown", "markdown", "Write Markdown, for the summary of a job."))


APPENDED = ".md"
"""The format of a file without a suffix, which is appended: the summary of a job in GitHub Actions is such a file."""


def render_report(report: Report, suffix: str) -> str:
    """A report in the format of a suffix, control characters as escapes: who shows the file may be a terminal."""
    return escape_controls(FORMATS[suffix or APPENDED].render(report))


def why_unwritable(file: Path) -> str:
    """Why no report can be written to a file; empty when one can."""
    if not file.suffix and file.is_dir():
        return "it is a folder. Name a file; a variable that is not set names none."
    if file.suffix and file.suffix not in FORMATS:
        return f"its suffix must be one of {' '.join(FORMATS)}."
    return "" if file.absolute().parent.is_dir() else f"there is no folder {file.parent}. Make it first."


def write_report(report: Report, file: Path, suffix: str) -> None:
    """Write a report to a file in the format of a suffix; ConfigError when it cannot be written: the old one stays.

    Without a suffix it is appended.
    """
    content = render_report(report, suffix).encode()
    try:
        if not suffix:
            with file.open("ab") as out:
                out.write(content)
            return
        with open_replacement(file) as out:
            out.write(content)
    except OSError as problem:
        fix = WRITE_ERROR_FIXES.get(problem.errno or 0, "Give another file")
        raise ConfigError(f"{file}: cannot be written: {describe_write_error(problem)}. {fix}.") from problem
