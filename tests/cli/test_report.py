"""`responses-harness report` on a command line."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.explain.cause import ReportFinding
from harness.report.formats import write_report
from harness.report.formats.json_file import read_report
from harness.report.report import Report
from tests.support.command_line import run_cli
from tests.support.reports import FAILED, make_report, passed

report = partial(run_cli, "report")


@pytest.fixture(autouse=True)
def _nobody_reads_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return saved(tmp_path / "a.json", make_report(FAILED, rules={"auth_missing"}))


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return saved(tmp_path / "b.json", make_report(passed(), rules={"unknown_parameter"}))


def saved(file: Path, report: Report) -> Path:
    write_report(report, file, ".json")
    return file


def test_a_report_is_printed(a: Path) -> None:
    said = report(a)
    assert (said.exit_code, said.stdout.splitlines()[:6]) == (
        0,
        [
            "1 failed; 1 cause",
            "contract: 0 exchanges, 0 refusals expected, 1 unexpected, 0 losses, 1 turn unused",
            "",
            "1. tests/test_a b.py:12 test_it[1]",
            "400 Unknown parameter: 'a|b'.",
            "  where   exchange 2, input[0]",
        ],
    )
    assert said.stdout.splitlines()[-1] == "  manual  responses-harness manual a-request-was-refused"


@pytest.mark.parametrize(("count", "last"), [(50, "\n50. tests/test_a"), (51, "… and 1 more")])
def test_of_many_causes_the_first_are_printed(tmp_path: Path, count: int, last: str) -> None:
    causes = [(replace(FAILED.found[0], fix="Remove it" + "!" * n),) for n in range(count)]
    trials = [replace(FAILED, id=f"a::{n}", found=found) for n, found in enumerate(causes)]
    said = report(saved(tmp_path / "a.json", make_report(*trials))).stdout
    assert last in said
    assert ("… and" in said) is (count > 50)


def test_every_form_is_written(a: Path, tmp_path: Path) -> None:
    forms = {"--json": "o.json", "--html": "o.html", "--junit": "o.xml", "--sarif": "o.sarif", "--markdown": "o.md"}
    said = report(a, *[word for option, name in forms.items() for word in (option, tmp_path / name)])
    assert said.exit_code == 0
    assert all((tmp_path / name).stat().st_size for name in forms.values())


def test_a_form_goes_to_stdout_alone(a: Path) -> None:
    said = report(a, "--json", "-")
    assert json.loads(said.stdout)["version"] == 1


def test_reports_of_several_jobs_are_merged(a: Path, b: Path, tmp_path: Path) -> None:
    said = report("merge", a, b, "-o", tmp_path / "c.json")
    whole = read_report(tmp_path / "c.json")
    assert (said.exit_code, len(whole.cases)) == (0, 2)
    assert whole.hit["rules"] == {"auth_missing", "unknown_parameter"}
    assert said.stdout.startswith("1 failed, 1 passed; 1 cause\ncontract: ")


def test_what_was_merged_goes_to_stdout_unless_a_file_is_named(a: Path, b: Path, tmp_path: Path) -> None:
    page = tmp_path / "o.html"
    piped, named = report("merge", a, b, "--html", page), report("merge", a, b, "-o", tmp_path / "c.json")
    assert (piped.exit_code, named.exit_code) == (0, 0)
    assert piped.stdout == (tmp_path / "c.json").read_text()
    assert page.stat().st_size


def test_the_gate_of_what_was_merged_leaves_the_json_alone(a: Path, b: Path) -> None:
    said = report("merge", a, b, "--fail-under", "50")
    assert (said.exit_code, len(json.loads(said.stdout)["tests"])) == (1, 2)
    assert "--fail-under requires 50 %" in said.stderr


@pytest.mark.parametrize(("least", "code"), [("0.1", 0), ("50", 1)])
def test_the_gate(a: Path, least: str, code: int) -> None:
    said = report(a, "--fail-under", least)
    assert said.exit_code == code
    assert ("--fail-under requires" in said.stderr) is bool(code)


def test_a_finding_with_its_own_line_is_printed_with_it(tmp_path: Path) -> None:
    found = ReportFinding("disagreement", False, "No.", "refusals.missed", 3, line=41)
    case = passed("a.yaml", file="a.yaml", outcome="failed", found=[found])
    said = report(saved(tmp_path / "a.json", make_report(case)))
    assert "1. a.yaml:41\nNo.\n  where   exchange 3\n" in said.stdout


def test_annotations_are_printed_where_they_are_read(a: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error file=tests/test_a b.py,line=12" in report(a).stdout
