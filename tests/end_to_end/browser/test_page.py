"""The HTML report in Chromium, as a reader sees it; skipped where there is no Chromium."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.explain.model import ReportFinding
from harness.report.api_coverage import measure_coverage, merge_coverage
from harness.report.formats import write_report
from harness.report.report import Report
from tests.end_to_end.browser.chromium import look_at
from tests.support.reports import KEY, ask, fill_case, make_mock

pytestmark = pytest.mark.slow
TESTS, EXCHANGES = 100, 50


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 5,000 exchanges, one test of which failed and says something that no other does."""
    mock = make_mock()
    for number in range(EXCHANGES):
        ask(
            mock, [{"role": "user", "content": f"question {n}"} for n in range(number % 12 + 1)], stream=number % 3 == 0
        )
    world = mock.worlds[KEY]
    trial, touched = fill_case(world), measure_coverage(world.exchanges, world)
    odd = make_mock()
    ask(odd, "only here <b>bold</b> <script>document.title = 'injected'</script>", stream=True)
    refusal = ReportFinding("refusal", False, "400 No.", "unknown_parameter", 1, "input", "because", "Mend it.")
    failed = replace(
        fill_case(odd.worlds[KEY]), id="test_a.py::test_odd", outcome="failed", found=(refusal,), why="E no"
    )
    many = [replace(trial, id=f"test_b.py::test_it[{number}]") for number in range(TESTS - 1)]
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_report(Report([*many, failed, trial], hit=merge_coverage([touched])), file, ".html")
    return file


@pytest.fixture(scope="module")
def seen(page: Path) -> Any:
    """What a reader saw in it."""
    return look_at(page, "page.mjs")


def test_it_has_no_error_and_asks_for_nothing(seen: Any) -> None:
    assert (seen["problems"], seen["injected"]) == ([], 0)


def test_five_thousand_exchanges_are_there(seen: Any) -> None:
    assert seen["count"] == [TESTS + 1, TESTS + 1, TESTS * EXCHANGES + 1, TESTS * EXCHANGES + 1]
    print(f"opened in {seen['opened']:.0f} ms")
    assert seen["line"].startswith("contract: 5001 exchanges, 0 refusals expected, 1 unexpected, ")


def test_what_is_to_be_mended_comes_first(seen: Any) -> None:
    assert seen["first"] == "test_a.py::test_odd"
    assert seen["unexpected"][::2] == [1, 1]


def test_the_search_finds_what_a_body_says(seen: Any) -> None:
    assert seen["searched"][::2] == [1, 1]
    assert seen["reset"] == seen["count"]


def test_request_answer_stream_and_finding_stand_side_by_side(seen: Any) -> None:
    assert [title.partition(":")[0] for title in seen["sides"]] == [
        "Request",
        "Answer, at the end of the stream",
        "Stream",
        "Found",
    ]
    assert "only here <b>bold</b> <script>" in seen["body"]
    assert seen["event"] == "response.created"


def test_a_test_has_a_diagram(seen: Any) -> None:
    assert seen["diagrams"] == 3


def test_the_surface_is_listed_and_leads_to_a_search(seen: Any) -> None:
    assert seen["chips"] > 150
    assert seen["chosen"]


def test_light_and_dark_follow_the_reader_and_can_be_chosen(seen: Any) -> None:
    assert seen["themes"] == {"differ": True, "forced": True, "said": "Theme: light"}


def test_on_paper_all_tests_are_open_and_nothing_to_click_is_left(seen: Any) -> None:
    assert seen["print"] == {"controls": False, "closed": 0}


def test_every_control_has_a_name(seen: Any) -> None:
    assert seen["unnamed"] == []
