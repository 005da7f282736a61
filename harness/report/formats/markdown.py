"""A report as Markdown, for the summary of a job: totals, unexpected findings, coverage."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from harness.core.text import shorten
from harness.explain.model import ReportFinding
from harness.report.api_coverage import DIMENSIONS
from harness.report.report import Report, ReportCase, unknown_model_lines

MAX_FINDINGS = 50
"""How many findings are listed, the first ones, as code hosts limit the length of a summary."""
MAX_DIAGRAMS = 5
"""How many flows are drawn: those of the first tests with an unexpected finding."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~$])")


def render(report: Report) -> str:
    """Render the report as Markdown."""
    return "\n".join([*_lines(report), ""])


def _lines(report: Report) -> Iterator[str]:
    wrong = [case for case in report.cases if case.unexpected]
    yield f"### {'❌' if wrong else '✅'} {report.line}"
    if report.unknown_models:
        yield ""
        yield from (f"- {escape_cell(line)}" for line in unknown_model_lines(report.unknown_models))
    yield from _findings_table(report.unexpected)
    for case in wrong[:MAX_DIAGRAMS]:
        if case.diagram:
            yield f"\n<details><summary>{_escape_html(case.id)}</summary>\n\n{_fence(case.diagram)}\n\n</details>"
    if report.examination:
        return
    yield "\n| surface | touched | of | |\n|---|--:|--:|--:|"
    for name, title in DIMENSIONS.items():
        yield f"| {title} | {len(report.hit[name])} | {len(report.known[name])} | {report.percent_covered(name)} % |"


def _findings_table(pairs: Sequence[tuple[ReportCase, ReportFinding]]) -> Iterator[str]:
    if not pairs:
        return
    yield "\n| test | what | where | fix |\n|---|---|---|---|"
    groups = _group_alike(pairs)
    for (case, finding), *others in groups[:MAX_FINDINGS]:
        test = f"{case.name_location(finding)} {case.id.rpartition('::')[2]}{f' and {len(others)} more' * bool(others)}"
        cells = (test, f"{finding.title}: {finding.message}", finding.place, finding.fix)
        yield f"| {' | '.join(map(escape_cell, cells))} |"
    if (hidden := len(groups) - MAX_FINDINGS) > 0:
        yield f"\n… and {hidden} more."


def _group_alike(pairs: Sequence[tuple[ReportCase, ReportFinding]]) -> list[list[tuple[ReportCase, ReportFinding]]]:
    """Group findings of the same client with the same reason; every other finding is a group of its own."""
    groups: dict[object, list[tuple[ReportCase, ReportFinding]]] = {}
    for case, finding in pairs:
        key = (case.examined["client"], case.examined["group"]) if case.examined else (case.id, len(groups))
        groups.setdefault(key, []).append((case, finding))
    return list(groups.values())


def _escape_html(text: str) -> str:
    """Put a text on one line for an HTML element, in which Markdown escapes have no effect."""
    return html.escape(" ".join(shorten(text, 300).split()))


def _fence(diagram: str) -> str:
    """Put a diagram into a code block, with fences that do not occur in it."""
    longest = max(map(len, re.findall("`+", diagram)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}mermaid\n{diagram}\n{fence}"


def escape_cell(text: str) -> str:
    """Put a text on one line, with Markdown characters escaped."""
    return _MARKUP.sub(r"\\\1", " ".join(shorten(text, 300).split()))
