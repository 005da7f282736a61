"""A report as one HTML page that needs no network: `page.html` with the data in it.

The page builds the list of tests at once, and an exchange only when it is opened.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.core.text.printable import escape_values
from harness.core.text.shorten import summarize_input, summarize_item
from harness.report.api_coverage import DIMENSIONS
from harness.report.report import Report, ReportCase, documentation_of, summary_line
from harness.report.unknown_models import unknown_model_lines

_HERE = Path(__file__).parent


def render(report: Report) -> str:
    """Render the page: the template with an index of the tests, and a line of JSON for each exchange of a test."""
    return fill_page(_HERE / "page.html", "\n".join(_data_scripts(report)))


def fill_page(template: Path, data: str) -> str:
    """Fill a page with the shared style and script and with its data; it runs no other script and loads nothing."""
    page = template.read_text(encoding="utf-8")
    for marker, name in (("/* shared style */", "shared.css"), ("/* shared script */", "shared.js")):
        page = page.replace(marker, (_HERE / name).read_text(encoding="utf-8"))
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    page = page.replace("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    return page.replace("<!-- the report -->", data)


def _data_scripts(report: Report) -> Iterator[str]:
    index = {
        **report.summary_json(),
        "line": summary_line(report.totals, report.percent_covered("rules")),
        "models": unknown_model_lines(report.unknown_models),
        "titles": DIMENSIONS,
    }
    index |= {"explained": _explanations(report), "tests": list(map(_case_json, report.cases))}
    yield f'<script type="application/json" id="index">{script_safe_json(index)}</script>'
    for number, case in enumerate(report.cases):
        lines = "\n".join(map(script_safe_json, case.exchanges))
        yield f'<script type="text/plain" id="exchanges-{number}">{lines}</script>'


def script_safe_json(value: Any) -> str:
    """JSON of what a page shows, which cannot end a script element."""
    plain = orjson.loads(orjson.dumps(value))
    return orjson.dumps(escape_values(plain)).decode().replace("<", "\\u003c")


def _explanations(report: Report) -> Json:
    """Collect the documentation of the rules and losses in the report, by id."""
    ids = report.known["rules"] | report.hit["refusals"]
    ids = ids.union(finding.id for case in report.cases for finding in case.found)
    return {id: known for id in sorted(ids) if (known := documentation_of(id))}


def _case_json(case: ReportCase) -> Json:
    return {
        "id": case.id,
        "place": f"{case.file}:{case.line}",
        "outcome": case.outcome,
        "seconds": case.seconds,
        "why": case.why,
        "sequence": case.sequence,
        "found": case.found,
        "rows": [_exchange_row(exchange) for exchange in case.exchanges],
    }


def _exchange_row(exchange: Json) -> list[Any]:
    """Make a table row: number, lane, operation, dialect, status, rule, and the gist of request and answer."""
    body = as_object(exchange["request"]).get("input", exchange["request"])
    members = ("number", "lane", "operation", "dialect", "status", "rule")
    return [*(exchange[name] for name in members), summarize_input(body), _answer_gist(exchange)]


def _answer_gist(exchange: Json) -> str:
    body = as_object(exchange["answer"])
    message = as_string(as_object(body.get("error", body)).get("message"))
    if exchange["status"] >= 400 and message:
        return message
    output = ", ".join(map(summarize_item, objects_in(body.get("output")))) or as_string(body.get("object"))
    return " ".join(filter(None, [output, exchange["broke"]]))
