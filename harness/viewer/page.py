"""The page: `page.html`, built from `viewer/`, with the data of a run in it. It needs no network and no other file."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from harness.report.report import Report
from harness.viewer.build_run import build_run
from harness.viewer.json_form import to_text
from harness.viewer.page_data import Run

DATA_MARK = "<!-- data -->"


@cache
def empty_page() -> str:
    """Return the page without data, which requests it from its server."""
    return (Path(__file__).parent / "page.html").read_text(encoding="utf-8")


def fill_page(run: Run, cases: Iterable[str]) -> str:
    """Insert a run and its cases into the page; the cases are texts from `to_text`, in the order of the run."""
    scripts = [_script("run", to_text(run)), *(_script(f"case-{number}", text) for number, text in enumerate(cases))]
    head, mark, tail = empty_page().rpartition(DATA_MARK)
    assert mark, "the page has lost the mark for its data"
    return "".join([head, "\n".join(scripts), tail])


def render(report: Report) -> str:
    """Render a report as a page."""
    return fill_page(*build_run(report))


def _script(id: str, text: str) -> str:
    return f'<script type="text/plain" id="{id}">{text}</script>'
