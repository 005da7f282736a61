"""A report as Markdown, for the summary of a job: counts, then the causes as a terminal shows them, with their tests."""

import html
import re
from collections.abc import Iterator

from harness.core.text import shorten
from harness.report.report import Report, name_tests, unknown_model_lines

MAX_CAUSES = 50
"""How many causes are shown, those of the most tests, as code hosts limit the length of a summary."""
MAX_DIAGRAMS = 5
"""How many flows are drawn: those of the first test of each of the first causes."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~$])")


def render(report: Report) -> str:
    """Render the report as Markdown."""
    return "\n".join([*_lines(report), ""])


def _lines(report: Report) -> Iterator[str]:
    groups = report.groups
    first, *others = report.head
    yield f"### {'❌' if groups else '✅'} {first}"
    for line in [*others, *unknown_model_lines(report.unknown_models)]:
        yield f"\n{_escape(line)}"
    for number, failures in enumerate(groups[:MAX_CAUSES], 1):
        named = " ".join(shorten(name_tests(failures), 300).split()).replace("`", "'")
        yield f"\n**{number}.** `{named}`"
        yield f"\n{_fence(failures[0].text, 'text')}"
    if (hidden := len(groups) - MAX_CAUSES) > 0:
        yield f"\n… and {hidden} more."
    for case in [failures[0].case for failures in groups if failures[0].case.diagram][:MAX_DIAGRAMS]:
        summary = html.escape(" ".join(shorten(case.id, 300).split()))
        yield f"\n<details><summary>{summary}</summary>\n\n{_fence(case.diagram, 'mermaid')}\n\n</details>"


def _fence(text: str, language: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
