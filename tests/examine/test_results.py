"""Results of examinations: kept, compared with earlier ones, put side by side."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from markdown_it import MarkdownIt

from harness.core.errors import ConfigError
from harness.examine.results import (
    ExaminationResults,
    compare_with_baseline,
    group_by_reason,
    name_cases,
    read_results,
    report_results,
    results_of,
)
from harness.report.formats import render_report
from harness.report.formats.json_file import merge_reports
from harness.report.report import Report
from tests.support.examined import cell, render_results, results, write_results
from tests.support.pages import in_page
from tests.support.schemas import assert_conforms

RED = cell("answers/text", "fail", "plain,replay", "must", "it is not said", "in detail")
GREEN = cell("answers/text", "pass", "stream,replay")
NO_OUTPUT = "Request {} was refused (400): No tool output found for function call {}."
SAME_CAUSE = [
    cell("tools/a", "fail", "plain,chain", "must", NO_OUTPUT.format(1, "call_Vm60pNfQtsK5Q4NhTsRg3TEq")),
    cell("tools/a", "fail", "stream,chain", "must", NO_OUTPUT.format(2, "call_AAAAAAAAAAAAAAAAAAAAAAAA")),
]


def test_json_is_as_its_schema_says() -> None:
    said = json.loads(render_results(results(RED, GREEN, cell("tools/one-call", "not applicable", "")), ".json"))
    assert_conforms(said, "report")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    written = results(RED, GREEN)
    write_results(written, tmp_path / "a.json")
    assert read_results(tmp_path / "a.json") == written


def test_a_report_of_tests_holds_no_results(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(render_report(Report(), ".json"))
    with pytest.raises(ConfigError, match=r"a.json: not an examination. Pass a file that responses-harness examine"):
        read_results(tmp_path / "a.json")


def test_long_texts_are_shortened_and_secrets_masked() -> None:
    odd = cell(
        "answers/text", "fail", "plain,replay", "must", "x" * 10_000, "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    )
    kept = odd.sanitize()
    assert len(kept.reasons[0]) < 5000
    assert "abcdefgh" not in kept.reasons[1]


CRASHED, MENDED = cell("tools/one-call", "crash"), cell("answers/text", "pass")


@pytest.mark.parametrize(
    ("now", "before", "new", "known", "fixed"),
    [
        pytest.param(results(RED, CRASHED), results(RED, GREEN), [CRASHED], [RED], [], id="only what is new fails"),
        pytest.param(results(MENDED), results(RED), [], [], [MENDED], id="what no longer fails is told"),
        pytest.param(results(GREEN), results(RED), [], [], [], id="a case that was not run is not fixed"),
        pytest.param(results(RED, client="mine 2.0"), results(RED), [], [RED], [], id="another release will do"),
    ],
)
def test_a_baseline_is_compared_with(now: Any, before: Any, new: list[Any], known: list[Any], fixed: list[Any]) -> None:
    compared = compare_with_baseline(now.clients[0], before)
    assert (compared.new, compared.known, compared.fixed) == (new, known, fixed)


def test_a_baseline_of_another_client_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"it has no result of yours \(it holds mine 1.0\)"):
        compare_with_baseline(results(RED, client="yours 1.0").clients[0], results(RED))


def test_a_should_that_is_red_fails_nothing() -> None:
    assert results(cell("answers/text", "crash", severity="should")).clients[0].failures == []


def test_cells_with_one_reason_are_reported_once() -> None:
    again = cell("answers/text", "fail", "stream,replay", "must", "it is not said")
    warned = cell("answers/a", "warn", "plain,replay", "should", "so so")
    assert group_by_reason([warned, RED, again, GREEN]) == [[RED, again], [warned]]


def side_by_side(*several: ExaminationResults) -> ExaminationResults:
    return results_of(merge_reports(list(map(report_results, several))))


def test_clients_side_by_side() -> None:
    merged = side_by_side(results(RED), results(GREEN), results(cell("tools/one-call"), client="yours 2"))
    assert [client.client for client in merged.clients] == ["mine 1.0", "mine 1.0 (2)", "yours 2"]
    assert merged.areas == ["answers", "tools"]


EVIL = "</script><b>|`*\u0000"


def test_markdown_counts_the_verdicts_and_has_no_markup_of_a_client() -> None:
    text = render_results(results(cell("answers/text", "fail", "plain,replay", "must", EVIL), GREEN), ".md")
    assert text.startswith("### ❌ mine 1.0: 1 fail, 1 pass\n")
    html = MarkdownIt().enable("table").render(text)
    assert "<b>" not in html
    assert html.count("<pre>") == 1


def test_junit_fails_for_a_must_alone() -> None:
    odd = cell("answers/text", "fail", "plain,replay", "must", EVIL)
    warned, left_out = cell("tools/b", "warn", severity="should"), cell("tools/c", "not applicable", "")
    [suite] = Xml.fromstring(render_results(results(odd, cell("tools/a", "crash"), warned, left_out), ".xml"))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "2"]
    tests = suite.findall("testcase")
    assert [[child.tag for child in test] for test in tests] == [["failure"], ["error"], ["skipped"], ["skipped"]]
    assert tests[0].get("classname") == "mine 1.0"
    assert tests[0].get("name") == "answers/text[plain,replay]"
    assert "responses-harness examine mine:Adapter --case answers/text" in (tests[0][0].text or "")


def test_a_reason_of_a_should_is_shown_though_it_fails_nothing() -> None:
    warned = cell("tools/b", "warn", "plain,replay", "should", "so so\n  fix: Do better.")
    [suite] = Xml.fromstring(render_results(results(warned), ".xml"))
    [skipped] = suite.iter("skipped")
    assert skipped.get("message") == "so so"
    assert "Do better." in (skipped.text or "")


def test_ids_do_not_tell_reasons_apart() -> None:
    assert group_by_reason(SAME_CAUSE) == [SAME_CAUSE]


def test_one_cause_of_many_cases_is_reported_once() -> None:
    said = "Request {0} was refused (400): Invalid 'input[{0}].id': 'msg_{0}6f1c2d3e4f5a6b7c8d9e0f'."
    names = [f"tools/{letter}" for letter in "abcde"]
    cells = [cell(name, "fail", "plain,chain", "must", said.format(number)) for number, name in enumerate(names)]
    late = [
        cell(name, "hang", "plain,chain", "must", f"no outcome after {seconds} s")
        for name, seconds in (("a", 20), ("b", 7.5))
    ]
    silent = [cell(f"tools/{n}", "fail", "plain", "must", f"No request came with sk-examine-{n}01d") for n in "ab"]
    assert group_by_reason(silent) == [silent]
    other = cell("tools/f", "fail", "plain,chain", "must", said.format(1).replace("400", "500"))
    assert group_by_reason([*cells, other, *late]) == [cells, [other], late]
    assert name_cases(cells) == "tools/a, tools/b, tools/c and 2 more"
    text = render_results(results(*cells), ".md")
    assert "\n**1.** `mine 1.0::tools/a[plain,chain], and 4 more: mine 1.0::tools/b[plain,chain], " in text
    assert text.count("was refused (400)") == 1


def test_cases_without_a_reason_have_no_cause_in_common() -> None:
    cells = [cell("tools/a", "crash"), cell("tools/b", "crash")]
    assert group_by_reason(cells) == [[cell] for cell in cells]


def test_the_page_has_a_cell_of_each_client_and_groups_those_of_one_cause() -> None:
    page, cases = in_page(
        render_results(side_by_side(results(*SAME_CAUSE), results(GREEN, client="yours 2.0")), ".html")
    )
    shown = page.examination
    assert shown is not None
    assert (page.source, shown.clients) == ("examine", ["mine 1.0", "yours 2.0"])
    assert [(cell.client, cell.mode, cell.verdict) for cell in shown.cells][:2] == [
        ("mine 1.0", "plain,chain", "fail"),
        ("mine 1.0", "stream,chain", "fail"),
    ]
    assert shown.cells[0].group == shown.cells[1].group != ""
    assert shown.cells[2].group == ""
    assert shown.cells[0].reproduce.startswith("responses-harness examine ")
    assert [case.row.id for case in cases][-1] == "yours 2.0::answers/text[stream,replay]"


def test_cells_are_counted_by_area():
    (client,) = results(RED, GREEN, cell("tools/a")).clients
    assert [dict(client.count(area)) for area in ("", "answers", "tools")] == [
        {"fail": 1, "pass": 2},
        {"fail": 1, "pass": 1},
        {"pass": 1},
    ]
