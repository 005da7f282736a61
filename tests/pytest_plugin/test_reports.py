"""What a run says of its exchanges at its end, and the reports that it writes."""

import os

import pytest

from harness.report.formats import FORMATS
from harness.viewer.text import render_run
from tests.support.pages import in_page
from tests.support.reports import read_cases, what_fails

SUITE = """
NOTES = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]

def test_good(mock, client):
    mock.script(message("hi"))
    client.responses.create(model="gpt-4.1", input="x")

def test_expected(mock, client):
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="gpt-4.1", input="x", extra_body={"bogus": 1})

def test_refused(mock, client):
    client.responses.create(model="gpt-4.1", input="x", extra_body={"bogus": 1})

class TestIt:
    def test_unused(self, mock):
        mock.script(message("a"))

@pytest.mark.xfail
def test_known(mock, client):
    client.responses.create(model="gpt-4.1", input="x")

@pytest.mark.harness(losses="allow", unused="allow")
def test_allowed(mock, client):
    mock.script(message("See page 3.", annotations=NOTES), message("3"), message("4"))
    first = client.responses.create(model="gpt-5.9", input="x")
    said = {**first.output[0].to_dict(), "content": [{"type": "output_text", "text": "See page 3.", "annotations": []}]}
    user = {"role": "user", "content": "x"}
    client.responses.create(model="gpt-4.1", input=[user, said, {"role": "user", "content": "y"}])

@pytest.fixture
def late(mock):
    yield
    raise RuntimeError("too late")

def test_late(late): ...

def test_without(): ...
"""
LINE = "contract: 6 exchanges, 1 refusal expected, 1 unexpected, 1 loss, 1 turn unused"


@pytest.fixture(autouse=True)
def _nobody_reads_annotations(monkeypatch):
    for variable in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(variable, raising=False)


def test_a_run_ends_with_a_line(run):
    run(SUITE).shows('model "gpt-5.9": 0 facts; nothing was refused for it, in 1 request', LINE).hides("::error*")


def test_a_run_that_fails_for_a_key_of_no_test_says_so_in_every_form(run, pytester):
    files = [pytester.path / f"report{suffix}" for suffix in FORMATS]
    run(
        """
def test_stray(mock, openai_client):
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")
    swallow(openai.OpenAI(api_key="sk-strange"))
""",
        *(f"--harness-report={file}" for file in files),
    ).shows("contract: 1 exchange, 0 refusals expected, 1 unexpected, *")
    for file in files:
        assert "A request with another key" in what_fails(file), file


def test_a_page_tells_the_run_and_why_each_test_failed(run, pytester):
    run(
        """
def test_good(mock, openai_client):
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")

def test_refused(mock, openai_client):
    mock.script(message("never"))
    try:
        openai_client.responses.create(model="gpt-4.1", input=17)
    except openai.BadRequestError:
        raise KeyError("output")

def test_wrong(mock, openai_client):
    mock.script(message("hi"))
    assert openai_client.responses.create(model="gpt-4.1", input="x").output_text == "bye"
""",
        "--harness-report=a.html",
        "--harness-report=a.json",
    )
    page, cases = in_page((pytester.path / "a.html").read_text())
    assert (page.source, page.counts) == ("pytest", {"passed": 1, "failed": 2})
    assert page.command.startswith("pytest ")
    assert page.versions["openai"]
    _, refused, wrong = page.cases
    assert [cause.rule for cause in refused.causes] == ["invalid_type"]
    assert dict(refused.causes[0].rows)["fix"]
    assert refused.consequences == ["KeyError: 'output'", 'no request took script: message "never"']
    assert [cause.kind for cause in wrong.causes] == ["raised"]
    assert [group.kind for group in page.causes] == ["refusal", "raised"]
    assert [len(case.exchanges) for case in cases] == [1, 1, 1]
    assert '"view":' not in (pytester.path / "a.json").read_text()


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["one-process", "xdist"]
)
def test_a_page_counts_every_test_and_says_which_used_the_mock(run, pytester, workers):
    run(
        """
def test_good(mock, openai_client):
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")

@pytest.mark.parametrize("number", range(3))
def test_other(number):
    assert number

@pytest.mark.skip(reason="later")
def test_skipped(mock): ...

@pytest.mark.xfail
def test_known():
    assert False

@pytest.fixture
def broken():
    raise ValueError

def test_broken(broken): ...
""",
        "--harness-report=a.html",
        *workers,
        apart=bool(workers),
    )
    page, cases = in_page((pytester.path / "a.html").read_text())
    assert page.counts == {"passed": 3, "failed": 1, "error": 1, "skipped": 1, "xfailed": 1}
    assert [row.outcome for row in page.cases] == ["passed"]
    counts, _, verdict = render_run(page, {case.row.id: case for case in cases}.get, 1000).partition("; ")
    assert counts == "1 failed, 1 error, 3 passed, 1 skipped, 1 xfailed (1 of them used the mock)"
    assert verdict.startswith("nothing wrong in the requests to the mock")


def test_a_run_without_the_mock_says_nothing(run):
    run("def test_it(): ...").hides("contract:*")


RUN_TWICE = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item._initrequest()
        item._report_sections.clear()
    return True
"""


def test_a_test_that_runs_again_counts_by_its_last_run_and_has_what_it_printed(run, pytester):
    pytester.makeconftest(RUN_TWICE)
    run(
        """
from harness.items import message

def test_it(mock, openai_client):
    print("Printed by the test.")
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")
""",
        "--harness-report=a.html",
        "--harness-report=a.json",
    ).shows("contract: 1 exchange,*")
    assert read_cases(pytester.path / "a.json")["test_it"].outcome == "passed"
    text = (pytester.path / "a.html").read_text()
    [row] = in_page(text)[0].cases
    assert (row.outcome, row.retries) == ("passed", 1)
    assert in_page(text)[1][0].printed == [("Captured stdout call", "Printed by the test.\n")]


def test_a_report_tells_each_test_that_used_the_mock(run, pytester):
    run(SUITE, "--harness-report=a.json")
    told = read_cases(pytester.path / "a.json")
    assert {name: trial.outcome for name, trial in told.items()} == {
        "test_good": "passed",
        "test_expected": "passed",
        "test_refused": "failed",
        "test_unused": "failed",
        "test_known": "xfailed",
        "test_allowed": "passed",
        "test_late": "error",
    }
    assert {name: [(finding.kind, finding.expected) for finding in trial.found] for name, trial in told.items()} == {
        "test_good": [],
        "test_expected": [("refusal", True)],
        "test_refused": [("refusal", False)],
        "test_unused": [("unused", False)],
        "test_known": [("unanswered", True)],
        "test_allowed": [("loss", True), ("unused", True)],
        "test_late": [],
    }
    good = told["test_good"]
    assert (good.file, len(good.exchanges)) == (f"{good.id.partition('::')[0]}", 1)
    source = (pytester.path / good.file).read_text().splitlines()
    assert source[good.line - 1] == "def test_good(mock, client):"
    assert "too late" in told["test_late"].why


@pytest.mark.slow
def test_workers_tell_the_same(run, pytester):
    here = run(SUITE, "--harness-report=a.json")
    apart = run(SUITE, "-n2", "--harness-report=b.json", apart=True).shows(LINE)
    told = [{name: (t.found, t.exchanges) for name, t in read_cases(pytester.path / f"{x}.json").items()} for x in "ab"]
    assert told[0] == told[1]
    assert line_of(here) == line_of(apart)


def line_of(result):
    return next(line for line in result.outlines if line.startswith("contract:"))


def test_every_form_is_written_at_once(run, pytester):
    names = ["o.json", "o.html", "o.xml", "o.sarif", "o.md"]
    run(SUITE, *(f"--harness-report={name}" for name in names))
    assert all((pytester.path / name).stat().st_size for name in names)


def test_a_run_without_tests_writes_an_empty_report(run, pytester):
    run("", "--harness-report=a.json")
    assert read_cases(pytester.path / "a.json") == {}


def test_a_test_that_changes_the_folder_moves_no_report(run, pytester, monkeypatch):
    run("def test_it(mock, tmp_path, monkeypatch): os.chdir(tmp_path)", "--harness-report=a.json")
    os.chdir(pytester.path)
    assert (pytester.path / "a.json").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--harness-report=a.txt", "--harness-report=a.txt: its suffix must be one of .json .html .xml .sarif .md."),
        ("--harness-report=no/a.json", "--harness-report=no/a.json: no folder no. Create it first."),
        ("--harness-fail-under=101", "--harness-fail-under=101: pass a number from 0 to 100."),
    ],
)
def test_an_option_that_does_not_fit_is_refused_before_the_first_test(run, option, said):
    result = run("def test_it(mock): ...", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}"])


def test_a_report_that_cannot_be_written_fails_the_run(run, pytester):
    (pytester.path / "a.json").mkdir()
    result = run("def test_it(mock): ...", "--harness-report=a.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*a.json: cannot be written: Is a directory. Pass another file."])


GOOD = """
def test_it(mock, client):
    mock.script(message("hi"))
    client.responses.create(model="gpt-4.1", input="x")
"""


@pytest.mark.parametrize(("least", "ended"), [("1", 0), ("90.5", 1)])
def test_a_run_that_touches_too_little_fails(run, least, ended):
    result = run(GOOD, f"--harness-fail-under={least}")
    assert result.ret == ended
    assert any("--harness-fail-under=90.5: only " in line for line in result.outlines) is bool(ended)


def test_the_gate_asks_nothing_of_a_run_without_the_mock(run):
    assert run("def test_it(): ...", "--harness-fail-under=90").ret == 0


def test_findings_are_annotated_where_somebody_reads_them(run, pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    result = run(SUITE)
    name = pytester.path.name
    result.stdout.fnmatch_lines(
        [f"::error file={name}/*.py,line=*,title=Request 1 was refused (400)%3A Unknown parameter*"]
    )
    assert sum(line.startswith("::error") for line in result.outlines) == 3


def test_a_file_without_a_suffix_is_markdown_that_is_appended(run, pytester, monkeypatch):
    summary = pytester.path / "step_summary_1"
    summary.write_text("before\n")
    run(GOOD, f"--harness-report={summary}")
    text = summary.read_text()
    assert text.startswith("before\n")
    assert "contract" in text
    assert run(GOOD, "--harness-report=").ret == pytest.ExitCode.USAGE_ERROR


LATER = """
def test_warm(mock, client):
    mock.script("hi")
    client.responses.create(model="gpt-4o", input="x", temperature=0.3)

def test_plain(mock, client):
    mock.script("hi")
    client.responses.create(model="gpt-6-sol", input="x")
"""
REFUSED = "gpt-6.2-sol refuses this request: 400 Unsupported parameter: 'temperature' is not supported with this model."
GONE = '"gpt-4o" shuts down on 2027-01-14. Use gpt-6-luna, which OpenAI recommends.'


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)])
def test_a_run_says_what_becomes_of_its_requests_and_fails_for_them(run, pytester, workers):
    asked = ("--harness-forecast=2027-02", "--harness-model=gpt-6.2-sol", "--harness-report=a.md", *workers)
    result = run(LATER, *asked, apart=bool(workers))
    result.shows(f"{REFUSED} * 1 case: *::test_warm")
    result.shows(f"{GONE} 1 case: *::test_warm")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "gpt-6-luna" in (pytester.path / "a.md").read_text()


def test_a_run_without_such_requests_passes(run):
    assert run(LATER, "--harness-forecast=2026-12-31", "--harness-model=gpt-4o-mini").ret == pytest.ExitCode.OK
    assert run(LATER, "--harness-forecast=soon").ret == pytest.ExitCode.USAGE_ERROR
