"""A report in every form: what stands in it, and that each form is what its readers take."""

import importlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as Xml

import orjson
import pytest
import typer
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from harness.cli.program import to_typer
from harness.core.errors import ConfigError
from harness.core.text import escape_controls
from harness.explain.cause import ReportFinding
from harness.report.api_coverage import api_surface, merge_coverage
from harness.report.formats import FORMATS, ReportFormat, render_report, why_unwritable, write_report
from harness.report.formats.github import annotation_commands
from harness.report.formats.json_file import merge_reports, read_report
from harness.report.report import Report, Totals
from harness.viewer.build_run import empty_page
from harness.viewer.pool import PoolReader
from tests.support.pages import Scripts, in_page
from tests.support.reports import EXPECTED, FAILED, KEY, REFUSED, UNUSED, make_report, passed, passed_with
from tests.support.schemas import assert_conforms

# JSON


def test_json_is_as_its_schema_says(tmp_path: Path) -> None:
    said = json.loads(render_report(make_report(passed_with(), FAILED, rules={"auth_missing"}), ".json"))
    assert_conforms(said, "report")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    report = make_report(passed_with(), FAILED, rules={"unknown_parameter"})
    write_report(report, tmp_path / "a.json", ".json")
    again = read_report(tmp_path / "a.json")
    assert render_report(again, ".json") == render_report(report, ".json")
    assert (again.totals, again.percent_covered("rules")) == (report.totals, report.percent_covered("rules"))


def test_a_report_of_before_has_no_flow_as_data(tmp_path: Path) -> None:
    document = json.loads(render_report(make_report(passed_with()), ".json"))
    del document["tests"][0]["sequence"]
    (tmp_path / "a.json").write_text(json.dumps(document))
    [case] = read_report(tmp_path / "a.json").cases
    assert (case.diagram[:15], case.sequence.messages) == ("sequenceDiagram", ())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[" * 300 + "]" * 300, "not JSON: it nests more than 200 levels deep"),
        ("[]", "not a report: at its top"),
        ('{"version": 2}', "a report of version 2; this harness reads 1. Update it."),
        ('{"version": 1, "totals": {}, "surface": {}, "tests": [{}]}', "not a report: at"),
    ],
)
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(ConfigError, match=re.escape(said)):
        read_report(tmp_path / "a.json")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_report(tmp_path / "a.json")


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: Is a directory"):
        write_report(make_report(), tmp_path, ".md")


# Merging


def test_reports_of_several_jobs_are_put_together() -> None:
    whole = merge_reports(
        [make_report(FAILED, rules={"auth_missing"}), make_report(passed(), rules={"unknown_parameter"})]
    )
    assert [trial.id for trial in whole.cases] == [FAILED.id, "test_b.py::test_ok"]
    assert whole.hit["rules"] == {"auth_missing", "unknown_parameter"}
    assert whole.totals == Totals(tests=2, unexpected=1, unused=1)


def test_the_same_test_of_two_jobs_is_there_once_whatever_time_it_took() -> None:
    assert len(merge_reports([make_report(passed()), make_report(passed(seconds=9.0))]).cases) == 1


def test_a_test_that_two_jobs_saw_differently_is_there_twice() -> None:
    assert [t.outcome for t in merge_reports([make_report(passed()), make_report(passed(outcome="failed"))]).cases] == [
        "passed",
        "failed",
    ]


def test_what_a_newer_harness_knows_counts_too() -> None:
    newer = replace(make_report(), known={**api_surface(), "rules": api_surface()["rules"] | {"new_rule"}})
    assert "new_rule" in merge_reports([make_report(), newer]).known["rules"]


# JUnit


def test_junit_counts_and_marks() -> None:
    trials = [
        FAILED,
        passed(),
        passed("a::b", outcome="error"),
        passed("a::c", outcome="xfailed"),
        passed("a", outcome="skipped"),
    ]
    written = render_report(make_report(*trials), ".xml")
    assert '\n  <testsuite name="contract"' in written
    (suite,) = Xml.fromstring(written.encode())
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "2",
        "time": "2.250",
    }
    cases = suite.findall("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases[:2]] == [
        ("tests.test_a b.TestIt", "test_it[1]"),
        ("test_b", "test_ok"),
    ]
    (failure,) = cases[0]
    assert failure.get("message") == REFUSED.message
    assert "Remove it." in str(failure.text)
    assert [len(case) for case in cases] == [1, 0, 1, 1, 1]


def test_junit_holds_only_what_xml_can_say() -> None:
    Xml.fromstring(
        render_report(make_report(replace(FAILED, id="a::\x00[\ufffe]", why="\x1b[31mred", found=())), ".xml").encode()
    )


# SARIF


def test_sarif_has_why_a_test_failed_at_its_line() -> None:
    left = replace(FAILED, id="test_left", found=(UNUSED,))
    said = json.loads(render_report(make_report(FAILED, left, passed(found=(EXPECTED,))), ".sarif"))
    (run,) = said["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert (said["version"], [rule["id"] for rule in rules]) == ("2.1.0", ["unknown_parameter", "unused"])
    assert [(result["ruleId"], result["ruleIndex"], result["level"]) for result in results] == [
        ("unknown_parameter", 0, "error"),
        ("unused", 1, "warning"),
    ]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "tests/test_a%20b.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12}
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)
    assert len({result["partialFingerprints"]["cause/v1"] for result in results}) == 2


def test_a_finding_with_its_own_line_is_annotated_there() -> None:
    found = (replace(REFUSED, kind="disagreement", line=41), ReportFinding("unreadable", False, "It breaks off."))
    report = make_report(replace(FAILED, found=found))
    (run,) = json.loads(render_report(report, ".sarif"))["runs"]
    places = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    assert places == [{"startLine": 41}, {"startLine": 12}]
    assert [line.split(",")[1] for line in annotation_commands(report)] == ["line=41", "line=12"]
    assert "test_a b.py:41 " in render_report(report, ".md")
    assert "It breaks off.\n  where   the file\n" in render_report(report, ".md")


def test_a_loss_has_its_own_words_in_sarif() -> None:
    lost = ReportFinding("loss", False, "gone", "citation-dropped", 2, "input[0]")
    said = json.loads(render_report(make_report(replace(FAILED, found=(lost,))), ".sarif"))
    assert "annotation" in said["runs"][0]["tool"]["driver"]["rules"][0]["help"]["text"]


# Markdown and annotations


def test_markdown_counts_and_then_shows_the_causes_as_a_terminal_does() -> None:
    said = render_report(make_report(replace(FAILED, diagram="sequenceDiagram"), rules={"auth_missing"}), ".md")
    assert said == (
        "### ❌ 1 failed; 1 cause\n\n"
        "contract: 0 exchanges, 0 refusals expected, 1 unexpected, 0 losses, 1 turn unused\n\n"
        "**1.** `tests/test_a b.py:12 test_it[1]`\n\n"
        "```text\n400 Unknown parameter: 'a|b'.\n  where   exchange 2, input[0]\n  why     in turn 2\n"
        "  fix     Remove it.\n  manual  responses-harness manual a-request-was-refused\n```\n\n"
        "<details><summary>tests/test_a b.py::TestIt::test_it[1]</summary>\n\n"
        "```mermaid\nsequenceDiagram\n```\n\n</details>\n"
    )


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)


@pytest.mark.parametrize(
    "hostile",
    [
        "<img src=x onerror=alert(1)>",
        "a\n\n<script>alert(1)</script>",
        "</summary><iframe src=x>",
        "```\n<img src=x>\n```",
        "[a](javascript:alert(1)) ![b](x)",
        "| <b>x</b> |\n<svg onload=alert(1)>",
    ],
)
def test_nothing_in_markdown_becomes_an_element(hostile: str) -> None:
    finding = replace(REFUSED, message=hostile, fix=hostile, at=hostile)
    case = replace(FAILED, id=hostile, file=hostile, found=(finding,), diagram=f"sequenceDiagram\n{hostile}")
    page = Tags()
    page.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(render_report(make_report(case), ".md")))
    assert page.found <= {"h3", "p", "strong", "details", "summary", "pre", "code"}


def test_markdown_of_a_good_run_has_nothing_to_mend() -> None:
    said = render_report(make_report(passed(found=(EXPECTED,))), ".md")
    assert said == "### ✅ 1 passed\n\ncontract: 0 exchanges, 1 refusal expected, 0 losses\n"


def test_a_summary_stays_short() -> None:
    causes = [(replace(REFUSED, fix="Remove it" + "!" * n),) for n in range(500)]
    said = render_report(make_report(*[replace(FAILED, found=found, diagram="x" * 500) for found in causes]), ".md")
    assert "… and 450 more." in said
    assert len(said) < 30_000


def test_annotations_stand_at_the_line_of_their_test() -> None:
    odd = replace(FAILED, file="a,b:c.py", found=(replace(REFUSED, message="100 %\nnot"),))
    assert list(annotation_commands(make_report(odd))) == [
        "::error file=a%2Cb%3Ac.py,line=12,title=100 %25 not::100 %25 not%0A  where   exchange 2, input[0]%0A"
        "  why     in turn 2%0A  fix     Remove it.%0A  manual  responses-harness manual a-request-was-refused%0A"
        "a,b:c.py:12 test_it[1]"
    ]


def test_annotations_beyond_the_limit_of_a_step_are_counted() -> None:
    causes = [(replace(UNUSED, fix="Remove it" + "!" * n),) for n in range(12)]
    told = list(annotation_commands(make_report(*[replace(FAILED, found=found) for found in causes])))
    assert (len(told), told[-1]) == (11, "::notice title=contract::2 more causes are in the report.")


def test_tests_that_fail_for_one_cause_are_annotated_at_the_first() -> None:
    [told] = annotation_commands(make_report(FAILED, *[replace(FAILED, id=f"b::test_{n}") for n in range(9)]))
    assert told.endswith(
        "%0Atests/test_a b.py:12 test_it[1], and 9 more: tests/test_a b.py:12 test_0, tests/test_a b.py:12 test_1, "
        "tests/test_a b.py:12 test_2, tests/test_a b.py:12 test_3, …"
    )


# HTML


def test_the_page_has_a_row_for_each_test_and_all_of_its_exchanges() -> None:
    trial = passed_with("</script><script>alert(1)</script>", "é\u2028")
    run, cases = in_page(render_report(make_report(trial, FAILED), ".html"))
    pool = PoolReader(cases[0].pool)
    sent = [pool.value(shown.request)["input"] for shown in cases[0].exchanges]
    assert sent == ["</script><script>alert(1)</script>", "é\u2028"]
    assert [(row.id, row.outcome, row.exchanges) for row in run.cases] == [
        (trial.id, "passed", 2),
        (FAILED.id, "failed", 0),
    ]
    assert set(run.documented) >= {"unknown_parameter"}
    assert run.totals == {"tests": 2, "exchanges": 2, "unexpected": 1, "unused": 1}


def test_the_page_tells_why_a_test_of_a_report_failed() -> None:
    run, _ = in_page(render_report(make_report(passed_with(), FAILED), ".html"))
    [group] = run.causes
    assert (group.what, group.rule, group.cases) == (REFUSED.message, REFUSED.id, [(FAILED.id, 2)])
    [cause] = run.cases[1].causes
    assert dict(cause.rows)["fix"] == "Remove it."
    assert run.cases[1].consequences == ["E 1", f"no request took {UNUSED.message}"]


def test_the_page_has_the_flow_as_data() -> None:
    _, [case] = in_page(render_report(make_report(passed_with()), ".html"))
    drawn = PoolReader(case.pool).value(case.sequence)
    assert drawn["participants"] == ["user", "agent 1", "API"]
    assert [sent["text"] for sent in drawn["messages"]] == ['user "hi"', "1. POST /responses", 'assistant "ok"']


def test_the_page_loads_nothing() -> None:
    assert Scripts(render_report(make_report(passed_with()), ".html")).loaded == ["data:,"]


def test_the_page_is_as_it_was_built() -> None:
    """What renders a report escapes control characters: a page that had some would not match its policy."""
    assert escape_controls(empty_page()) == empty_page()
    assert len(empty_page().encode()) <= 250_000


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_form_shows_the_key(suffix: str) -> None:
    page = render_report(make_report(passed_with(f"my key is {KEY}")), suffix)
    assert KEY not in page
    if suffix == ".html":
        assert all(KEY.encode() not in orjson.dumps(part) for part in in_page(page))


STEERING = "".join(map(chr, [*range(9), *range(0xB, 0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200F, 0x2028]))
"""Controls of terminals, marks that turn the direction of text, a separator of lines."""


def steered() -> Report:
    found = ReportFinding(
        "refusal", False, f"It {STEERING}broke", "auth_missing", 1, f"in{STEERING}put", fix=f"Do {STEERING}it"
    )
    odd = replace(FAILED, id=f"a.py::test{STEERING}", why=f"no{STEERING}", diagram=f"x{STEERING}", found=(found,))
    return make_report(odd)


@pytest.mark.parametrize("suffix", sorted({*FORMATS} - {".json", ".html"}))
def test_no_form_steers_what_shows_it(suffix: str) -> None:
    said = render_report(steered(), suffix)
    assert not set(STEERING) & set(said)
    assert "u001b" in said
    assert "u202e" in said


def test_the_labels_of_a_page_and_the_texts_of_sarif_are_escaped_too() -> None:
    run, _ = in_page(render_report(steered(), ".html"))
    for text in (orjson.dumps([run.cases, run.causes]).decode(), render_report(steered(), ".sarif")):
        assert "\\\\u001b" in text
        assert not re.search(r"(?<!\\)\\u(001b|202e)", text)
        assert not set(STEERING) & set(text)


def test_an_annotation_steers_no_terminal() -> None:
    assert not set(STEERING) & set("".join(annotation_commands(steered())))


def test_a_report_of_nothing_can_be_written_in_every_form() -> None:
    empty = Report(hit=merge_coverage(()))
    assert all(render_report(empty, suffix) for suffix in FORMATS)


def test_a_format_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its suffix is known to the plugin and to `responses-harness verify`, its option to `responses-harness report`."""
    module = "harness.report.formats.plain"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(render=lambda report: f"{len(report.cases)} tests"))
    monkeypatch.setitem(FORMATS, ".txt", ReportFormat("plain", "plain", "Write a line."))
    write_report(make_report(FAILED), tmp_path / "a.json", ".json")

    assert why_unwritable(tmp_path / "a.txt") == ""
    assert why_unwritable(tmp_path / "a.doc") == "its suffix must be one of .json .html .xml .sarif .md .txt."
    monkeypatch.delitem(sys.modules, "harness.cli.report", raising=False)
    monkeypatch.delattr("harness.cli.report", raising=False)
    app = typer.Typer()
    app.command()(to_typer(importlib.import_module("harness.cli.report").report))
    done = CliRunner().invoke(app, [str(tmp_path / "a.json"), "--plain", str(tmp_path / "a.txt")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a.txt").read_text() == "1 tests"
