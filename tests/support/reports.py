"""Cases and findings for reports: those of a mock that was asked something, and some made by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.loss import losses_of
from harness.core.exchange import Json
from harness.ending import TurnLine
from harness.explain.cause import ReportFinding
from harness.items import message
from harness.report.api_coverage import DIMENSIONS
from harness.report.fill_case import fill_case as fill_report_case
from harness.report.formats.json_file import read_report
from harness.report.report import Report, ReportCase
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support import in_process
from tests.support.pages import in_page
from tests.support.schemas import assert_conforms

KEY = "sk-harness-0123456789abcdef"
REFUSED = ReportFinding(
    "refusal", False, "400 Unknown parameter: 'a|b'.", "unknown_parameter", 2, "input[0]", "in turn 2", "Remove it."
)
EXPECTED = replace(REFUSED, expected=True)
UNUSED = ReportFinding("unused", False, 'script: message "hi"', fix="Remove the turn.")
FAILED = ReportCase(
    "tests/test_a b.py::TestIt::test_it[1]", "tests/test_a b.py", 12, "failed", 0.25, found=(REFUSED, UNUSED), why="E 1"
)


def what_fails(file: Path) -> str:
    """Return the text of a report, or of a page the first cause that it shows; nothing in it has passed."""
    text = file.read_text()
    assert "✅" not in text
    return in_page(text)[0].causes[0].what if file.suffix == ".html" else text


def make_mock(turn: list[TurnLine] | None = None) -> MockApi:
    """Return a mock that answers everything with this turn."""
    mock = MockApi(fallback=lambda _: turn or [message("ok")])
    mock.open(KEY)
    return mock


def post(mock: MockApi, body: Json | bytes, path: str = "/v1/responses", **headers: str) -> Any:
    """Return the body of the answer to one request."""
    return in_process.post(mock, body, path, KEY, **headers).body


def ask(mock: MockApi, input: Any, **members: Any) -> Any:
    """Return the answer to a `POST /responses`."""
    return in_process.ask(mock, input, KEY, **members).body


def fill_case(world: World, outcome: str = "passed", *allowed: str, why: str = "", judged: bool = True) -> ReportCase:
    """Return a case with what is found in the exchanges of a World."""
    case = ReportCase("test_a.py::test_it", "test_a.py", 3, outcome, 0.1, why=why)
    return fill_report_case(case, world, losses_of(world.exchanges), allowed, judged=judged)


def passed_with(*inputs: str) -> ReportCase:
    """Return a test that sent these inputs and passed."""
    mock = make_mock()
    for input in inputs or ("hi",):
        ask(mock, input)
    return fill_case(mock.worlds[KEY])


def make_report(*cases: ReportCase, **hit: set[str]) -> Report:
    """Return a report of these cases; `hit` is what they cover in each dimension."""
    return Report(cases, hit={name: frozenset(hit.get(name, ())) for name in DIMENSIONS})


def passed(id: str = "test_b.py::test_ok", **members: object) -> ReportCase:
    """Return a case that passed, with other members."""
    return replace(ReportCase(id, "test_b.py", 1, "passed", 0.5), **members)


def read_valid_report(file: Path) -> Report:
    """Return what a JSON report tells; it must be as its schema says."""
    assert_conforms(json.loads(file.read_text()), "report")
    return read_report(file)


def read_cases(file: Path) -> dict[str, ReportCase]:
    """Return the tests of a JSON report by their names; the report must be as its schema says."""
    return {case.id.rpartition("::")[2]: case for case in read_valid_report(file).cases}
