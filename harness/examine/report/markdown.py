"""Renders results as Markdown, for a README or a job summary: a badge and a table per client, and all non-passes."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from harness.core.text import shorten
from harness.examine.cell import RED, VERDICTS
from harness.examine.report.results import ClientResult, ExaminationResults, group_by_reason, name_cases
from harness.report.formats.markdown import escape_cell

MAX_LISTED = 50
"""The maximum number of reasons per client, failures first, because code hosts limit the length of a page."""
BADGE_ROOT = "https://img.shields.io/badge/"
"""The URL of the service that draws badges, given their text."""


def render(results: ExaminationResults) -> str:
    """Render the results as Markdown."""
    return "\n".join([line for client in results.clients for line in _lines(client, results.areas)])


def badge(result: ClientResult) -> str:
    """Render a badge with the number of runs that pass: `openai 3.54.0 | 312 of 320 pass`."""
    count = result.count()
    runs = sum(count.values()) - count["not applicable"]
    color = "red" if any(count[verdict] for verdict in RED) else "yellow" if count["warn"] else "brightgreen"
    words = "-".join(quote(text.replace("-", "--").replace("_", "__"), safe="") for text in _badge_words(result, runs))
    return f"![{escape_cell(': '.join(_badge_words(result, runs)))}]({BADGE_ROOT}{words}-{color})"


def _badge_words(result: ClientResult, runs: int) -> tuple[str, str]:
    return result.client, f"{result.count()['pass']} of {runs} pass{'' if result.complete else ', interrupted'}"


def _lines(result: ClientResult, areas: list[str]) -> Iterator[str]:
    yield f"### {escape_cell(result.client)}\n\n{badge(result)}\n"
    yield f"| area | {' | '.join(VERDICTS)} |\n|---|{'--:|' * len(VERDICTS)}"
    for area in [*areas, ""]:
        count = result.count(area)
        yield f"| {area or '**all**'} | {' | '.join(str(count[verdict] or '') for verdict in VERDICTS)} |"
    groups = group_by_reason(result.cells)
    if groups:
        yield "\n| case | severity | modes | | why |\n|---|---|---|---|---|"
    for group in groups[:MAX_LISTED]:
        cell, modes = group[0], " ".join(dict.fromkeys(alike.mode for alike in group))
        cells = (name_cases(group), cell.severity, shorten(modes, 100), cell.verdict, cell.reason)
        yield f"| {' | '.join(map(escape_cell, cells))} |"
    if (hidden := len(groups) - MAX_LISTED) > 0:
        yield f"\n… and {hidden} more."
    yield ""
