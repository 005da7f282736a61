"""The formats of results, by the suffix of the file."""

from __future__ import annotations

from pathlib import Path

from harness.core.errors import ConfigError
from harness.core.registry import Registry
from harness.examine.report.results import ExaminationResults
from harness.report.formats import ReportFormat, render_report, why_unwritable, write_report

_MODULES = {".json": "json_results", ".html": "html", ".md": "markdown", ".xml": "junit"}
RESULT_FORMATS: Registry[ReportFormat] = Registry(
    "form of results",
    {suffix: ReportFormat(module, package="harness.examine.report") for suffix, module in _MODULES.items()},
)


def check_writable(file: Path) -> None:
    """Raise ConfigError if results cannot be written to a file."""
    known = f"its suffix must be one of {' '.join(RESULT_FORMATS)}."
    if why := why_unwritable(file, RESULT_FORMATS) if file.suffix else known:
        raise ConfigError(f"--report {file}: {why}")


def render_results(results: ExaminationResults, suffix: str) -> str:
    """Render results in the format of a suffix, with control characters escaped."""
    return render_report(results, suffix, RESULT_FORMATS)


def write_results(results: ExaminationResults, file: Path) -> None:
    """Write results to a file in the format of its suffix. ConfigError if that fails, which keeps the old file."""
    write_report(results, file, file.suffix, RESULT_FORMATS)
