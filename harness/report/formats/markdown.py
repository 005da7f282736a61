"""A report as Markdown, for the summary of a job: totals, what to mend, the surface that was touched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.core.shorten import shorten
from harness.report.coverage import DIMENSIONS
from harness.report.model import Found, Report, Trial, line

MOST = 50
"""Findings that are told, the first ones: a code host takes no long summary."""
DIAGRAMS = 5
"""Tests whose flow is drawn, the first ones with something to mend."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~$])")


def written(report: Report) -> str:
    """The whole text."""
    return "\n".join([*_lines(report), ""])


def _lines(report: Report) -> Iterator[str]:
    wrong = [trial for trial in report.trials if trial.unexpected]
    yield f"### {'❌' if wrong else '✅'} {line(report.totals, report.share('rules'))}"
    yield from _to_mend(report.unexpected)
    for trial in wrong[:DIAGRAMS]:
        if trial.diagram:
            yield f"\n<details><summary>{_flat(trial.id)}</summary>\n\n```mermaid\n{trial.diagram}\n```\n\n</details>"
    yield "\n| surface | touched | of | |\n|---|--:|--:|--:|"
    for name, title in DIMENSIONS.items():
        yield f"| {title} | {len(report.hit[name])} | {len(report.known[name])} | {report.share(name)} % |"


def _to_mend(pairs: Sequence[tuple[Trial, Found]]) -> Iterator[str]:
    if not pairs:
        return
    yield "\n| test | what | where | fix |\n|---|---|---|---|"
    for trial, found in pairs[:MOST]:
        test = f"{':'.join(map(str, trial.place(found)))} {trial.id.rpartition('::')[2]}"
        cells = (test, f"{found.title}: {found.message}", found.place, found.fix)
        yield f"| {' | '.join(map(_flat, cells))} |"
    if (hidden := len(pairs) - MOST) > 0:
        yield f"\n… and {hidden} more."


def _flat(text: str) -> str:
    """A text in one line, with nothing that Markdown would take for a mark."""
    return _MARKS.sub(r"\\\1", " ".join(shorten(text, 300).split()))
