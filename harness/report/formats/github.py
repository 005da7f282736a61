"""A report as workflow commands of GitHub Actions: each finding at the line of its test."""

from __future__ import annotations

from collections.abc import Iterator

from harness.report.model import Report

MOST = 10
"""Annotations that a step may make."""


def commands(report: Report) -> Iterator[str]:
    """A line for each of the first findings that were not expected."""
    pairs = report.unexpected
    for trial, found in pairs[:MOST]:
        file, line = trial.place(found)
        named = {"file": file, "line": str(line), "title": found.title}
        members = ",".join(f"{name}={_member(value)}" for name, value in named.items())
        yield f"::error {members}::{_text(found.text)}"
    if (hidden := len(pairs) - MOST) > 0:
        yield f"::notice title=contract::{hidden} more findings are in the report."


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _member(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
