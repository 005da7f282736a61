"""A report as workflow commands of GitHub Actions: each finding at the line of its test."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.text import escape_controls
from harness.report.report import Report

MAX_ANNOTATIONS = 10
"""The maximum number of annotations that GitHub shows per step."""


def annotation_commands(report: Report) -> Iterator[str]:
    """Yield a command for each of the first unexpected findings."""
    pairs = report.unexpected
    for case, finding in pairs[:MAX_ANNOTATIONS]:
        file, line = case.location_of(finding)
        named = {"file": file, "line": str(line), "title": finding.title}
        escaped = {name: _escape_data(value).replace(":", "%3A").replace(",", "%2C") for name, value in named.items()}
        members = ",".join(f"{name}={value}" for name, value in escaped.items())
        yield f"::error {members}::{_escape_data(finding.text)}"
    if (hidden := len(pairs) - MAX_ANNOTATIONS) > 0:
        yield f"::notice title=contract::{hidden} more findings are in the report."


def _escape_data(text: str) -> str:
    return escape_controls(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
