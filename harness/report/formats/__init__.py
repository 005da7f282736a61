"""The formats of a report, one module and one entry in `FORMATS` each.

The lines of `github` are printed, not written.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from harness.core.errors import ConfigError
from harness.core.registry import Registry

ACTIONS_VARIABLE = "GITHUB_ACTIONS"
"""The environment variable that says whether GitHub Actions reads annotations."""
CHECKOUT_VARIABLE = "GITHUB_WORKSPACE"
"""The environment variable with the folder to which code hosts relate file names."""


class ReportFormat(NamedTuple):
    """A format of reports: `render(report)` of `module` returns the text; `option` and `help` are for the command line.

    The module is imported only when a report is rendered, so that listing the suffixes is cheap.
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
"""Every format by its file suffix."""

FORMATS.add(".json", ReportFormat("json_file", "json", "Write JSON; - is stdout."))
FORMATS.add(".html", ReportFormat("build_run", "html", "Write one page that needs no network.", "harness.viewer"))
FORMATS.add(".xml", ReportFormat("junit", "junit", "Write JUnit XML."))
FORMATS.add(".sarif", ReportFormat("sarif", "sarif", "Write SARIF, for code hosts."))
FORMATS.add(".md", ReportFormat("markdown", "markdown", "Write Markdown, for the summary of a job."))

PAGE = ".html"
"""The format with complete cases: to write it, each case needs its `view`."""
APPENDED = ".md"
"""The format of a file without a suffix, to which reports are appended, like a job's summary in GitHub Actions."""


def render_report(report: Any, suffix: str) -> str:
    """Render a report in the format of a suffix, with control characters escaped, as it may be shown in a terminal."""
    from harness.core.text import escape_controls

    return escape_controls(FORMATS[suffix or APPENDED].render(report))


def why_unwritable(file: Path) -> str:
    """Return why no report can be written to a file; empty if one can."""
    if not file.suffix and file.is_dir():
        return "it is a folder. Name a file; a variable that is not set names none."
    if file.suffix and file.suffix not in FORMATS:
        return f"its suffix must be one of {' '.join(FORMATS)}."
    return "" if file.absolute().parent.is_dir() else f"no folder {file.parent}. Create it first."


def is_page(file: Path) -> bool:
    """Return whether the format of this file shows complete cases."""
    return file.suffix == PAGE


def check_writable(files: Iterable[Path]) -> None:
    """Raise ConfigError for a `--report` file that no report can be written to."""
    for file in files:
        if why := why_unwritable(file):
            raise ConfigError(f"--report {file}: {why}")


def write_report(report: Any, file: Path, suffix: str) -> None:
    """Write a report in the format of a suffix; ConfigError if that fails, and an existing file stays unchanged.

    Without a suffix the report is appended.
    """
    from harness.report.replace_file import explain_write_errors, open_replacement

    content = render_report(report, suffix).encode()
    with (
        explain_write_errors(str(file), "Pass another file"),
        open_replacement(file) if suffix else file.open("ab") as out,
    ):
        out.write(content)
