"""A report as one HTML page that needs no network: `page.html` with the data in it.

The page builds what is looked at, no more: a list of tests at once, an exchange when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.core.shorten import quote, shorten_json, summarize_item
from harness.report.coverage import DIMENSIONS
from harness.report.model import Report, ReportCase, explain, summary_line

_PAGE = Path(__file__).with_name("page.html")
_DATA_MARKER = "<!-- the report -->"


def render(report: Report) -> str:
    """The whole page: the template, an index of the tests, and for each test a line of JSON an exchange."""
    return _PAGE.read_text(encoding="utf-8").replace(_DATA_MARKER, "\n".join(_data_scripts(report)))


def _data_scripts(report: Report) -> Iterator[str]:
    index = {
        **report.summary_json(),
        "line": summary_line(report.totals, report.percent_covered("rules")),
        "titles": DIMENSIONS,
    }
    index |= {"explained": _explanations(report), "tests": list(map(_case_json, report.cases))}
    yield f'<script type="application/json" id="index">{_script_safe_json(index)}</script>'
    for number, trial in enumerate(report.cases):
        lines = "\n".join(map(_script_safe_json, trial.exchanges))
        yield f'<script type="text/plain" id="exchanges-{number}">{lines}</script>'


def _script_safe_json(value: Any) -> str:
    """JSON that ends no script element."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def _explanations(report: Report) -> Json:
    """What is known of every rule that the report names, and of the losses in it."""
    ids = report.known["rules"] | report.hit["refusals"]
    ids = ids.union(found.id for trial in report.cases for found in trial.found)
    return {id: known for id in sorted(ids) if (known := explain(id))}


def _case_json(trial: ReportCase) -> Json:
    return {
        "id": trial.id,
        "place": f"{trial.file}:{trial.line}",
        "outcome": trial.outcome,
        "seconds": trial.seconds,
        "why": trial.why,
        "diagram": trial.diagram,
        "found": trial.found,
        "rows": [_exchange_row(exchange) for exchange in trial.exchanges],
    }


def _exchange_row(exchange: Json) -> list[Any]:
    """An exchange in a line of a table: number, lane, operation, dialect, status, rule, what was asked, what was said."""
    members = ("number", "lane", "operation", "dialect", "status", "rule")
    return [*(exchange[name] for name in members), _input_gist(exchange["request"]), _answer_gist(exchange)]


def _input_gist(body: Any) -> str:
    given = as_object(body).get("input", body)
    if isinstance(given, str):
        return quote(given)
    if isinstance(given, list) and given:
        return (
            summarize_item(given[-1]) if len(given) == 1 else f"{len(given)} items, last: {summarize_item(given[-1])}"
        )
    return "" if given is None else shorten_json(given, 1)


def _answer_gist(exchange: Json) -> str:
    body = as_object(exchange["answer"])
    message = as_string(as_object(body.get("error", body)).get("message"))
    if exchange["status"] >= 400 and message:
        return message
    told = ", ".join(map(summarize_item, objects_in(body.get("output")))) or as_string(body.get("object"))
    return " ".join(filter(None, [told, exchange["broke"]]))
