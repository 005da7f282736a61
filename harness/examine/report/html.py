"""Results as one HTML page that needs no network: a matrix of cases and modes, several clients side by side."""

from __future__ import annotations

from pathlib import Path

from harness.examine.cell import VERDICTS
from harness.examine.report.results import ExaminationResults
from harness.report.formats.html import fill_page, script_safe_json

_PAGE = Path(__file__).with_name("page.html")


def render(results: ExaminationResults) -> str:
    """Render the page: the template with the results as data."""
    data = {
        "areas": results.areas,
        "cases": dict(results.cases),
        "clients": [client.as_json() for client in results.clients],
        "verdicts": VERDICTS,
    }
    return fill_page(_PAGE, f'<script type="application/json" id="results">{script_safe_json(data)}</script>')
