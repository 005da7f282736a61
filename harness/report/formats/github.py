"""A report as workflow commands of GitHub Actions: each cause at the line of the first test that has it."""

from collections.abc import Iterator

from harness.core.text import escape_controls, shorten
from harness.report.report import Report, name_tests

MAX_ANNOTATIONS = 10
"""The maximum number of annotations that GitHub shows per step."""
MAX_TITLE = 120
"""Characters of a title."""


def annotation_commands(report: Report) -> Iterator[str]:
    """Yield a command for each of the first causes, those of the most tests first."""
    groups = report.groups
    for failures in groups[:MAX_ANNOTATIONS]:
        first = failures[0]
        title = shorten(" ".join(first.cause.what.split()), MAX_TITLE)
        named = {"file": first.case.file, "line": str(first.line), "title": title}
        escaped = {name: _escape_data(value).replace(":", "%3A").replace(",", "%2C") for name, value in named.items()}
        members = ",".join(f"{name}={value}" for name, value in escaped.items())
        text = "\n".join([first.text, name_tests(failures)])
        yield f"::error {members}::{_escape_data(text)}"
    if (hidden := len(groups) - MAX_ANNOTATIONS) > 0:
        yield f"::notice title=contract::{hidden} more causes are in the report."


def _escape_data(text: str) -> str:
    return escape_controls(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
