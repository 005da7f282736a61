"""Tests that replay cassettes are in the reports and in the last line as those that use the mock are; their pace."""

from dataclasses import replace

import pytest

from harness.cassettes.files import read_cassette
from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_cassette
from harness.items import message
from harness.report.formats.json_file import read_report
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.recordings import HI, over_http, recorded, sse
from tests.support.reports import read_cases

NOTES = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]
SUITE = """
def ask(client, given="hi", **members):
    return client.responses.create(model="gpt-4.1", input=given, **members)

@pytest.mark.cassette("it")
def test_good(client):
    ask(client)

@pytest.mark.cassette("it")
def test_expected(client):
    with pytest.raises(openai.BadRequestError):
        ask(client, 3)

@pytest.mark.cassette("it")
def test_refused(client):
    ask(client, 3)

def lose(client):
    item = ask(client, "Report?").output[0].to_dict()
    said = {**item, "content": [{"type": "output_text", "text": "See page 3.", "annotations": []}]}
    ask(client, [{"role": "user", "content": "Report?"}, said, {"role": "user", "content": "y"}])

@pytest.mark.cassette("it")
def test_lossy(client):
    lose(client)

@pytest.mark.cassette("it")
@pytest.mark.harness(losses=["citation-dropped"])
def test_allowed(client):
    lose(client)

@pytest.mark.cassette("it")
def test_missed(client):
    with pytest.raises(openai.APIStatusError):
        ask(client, "never said")

@pytest.mark.cassette("none")
def test_none(client): ...

@pytest.mark.harness(unused="allow")
@pytest.mark.cassette("it")
def test_silent(): ...

@pytest.mark.skip
@pytest.mark.cassette("it")
def test_skipped(): ...

@pytest.mark.cassette("it")
def test_elsewhere():
    import httpx2
    httpx2.post("https://api.openai.com/v1/chat/completions", json={})

def test_mocked(mock, client):
    mock.script(message("hi"))
    ask(client)
"""
LINE = "contract: 9 exchanges, 1 refusal expected, 1 unexpected, 2 losses, 1 unanswered"


@pytest.fixture(autouse=True)
def _nobody_reads_annotations(monkeypatch, tmp_path):
    for variable in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(autouse=True)
def cassette(pytester):
    """`cassettes/it.yaml`: a greeting, a refusal, a conversation that loses a citation, a call of another endpoint."""
    cited = message("See page 3.", annotations=NOTES)
    greeted, refused, said = recorded(HI, {**HI, "input": 3}, {**HI, "input": "Report?"}, turns=[message("ok"), cited])
    (item,) = said["response"]["output"]
    bare = {**item, "content": [{"type": "output_text", "text": "See page 3.", "annotations": []}]}
    asked = [{"role": "user", "content": "Report?"}, bare, {"role": "user", "content": "y"}]
    (answered,) = recorded({**HI, "input": asked})
    takes = [
        over_http(exchange["request"], exchange["response"], status=exchange["status"])
        for exchange in (greeted, refused, said, answered)
    ]
    takes.append(over_http({}, {}, uri="https://api.openai.com/v1/chat/completions"))
    return taped(pytester, *takes)


def taped(pytester, *takes):
    file = pytester.path / "cassettes/it.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(dump_cassette(CassetteHeader(dialect="openai"), takes), encoding="utf-8")
    return file


def test_a_run_ends_with_a_line(run):
    run(SUITE).shows(LINE)


@pytest.mark.slow
def test_a_report_tells_each_test_that_has_a_cassette(run, pytester):
    run(SUITE, "--harness-report=a.json").assert_outcomes(passed=7, failed=2, errors=1, skipped=1)
    told = read_cases(pytester.path / "a.json")
    found = {
        name: [(finding.kind, finding.id, finding.expected) for finding in trial.found] for name, trial in told.items()
    }
    assert found == {
        "test_good": [],
        "test_expected": [("refusal", "invalid_type", True)],
        "test_refused": [("refusal", "invalid_type", False)],
        "test_lossy": [("loss", "citation-dropped", False)],
        "test_allowed": [("loss", "citation-dropped", True)],
        "test_missed": [("unanswered", "", False)],
        "test_none": [],
        "test_silent": [],
        "test_elsewhere": [],
        "test_mocked": [],
    }
    assert {name: len(trial.exchanges) for name, trial in told.items() if not trial.exchanges} == dict.fromkeys(
        ("test_none", "test_silent", "test_elsewhere"), 0
    )
    assert (told["test_none"].outcome, told["test_lossy"].outcome) == ("error", "passed")
    assert "no such cassette" in told["test_none"].why
    assert "POST /responses" in told["test_good"].diagram
    (exchange,) = told["test_good"].exchanges
    assert (exchange["operation"], exchange["request"], exchange["status"]) == ("POST /responses", HI, 200)
    assert told["test_refused"].found[0].why.startswith("input = 3")


def test_the_surface_is_that_of_the_same_test_with_the_mock(run, pytester):
    hits = []
    for source in (SUITE[SUITE.index("@") : SUITE.index('@pytest.mark.cassette("it")\ndef test_expected')], MOCKED):
        run(SUITE[: SUITE.index("@")] + source, "--harness-report=a.json")
        hits.append(read_report(pytester.path / "a.json").hit)
    assert hits[0] == hits[1]
    assert hits[0]["rules"]


MOCKED = """
def test_good(mock, client):
    mock.script(message("ok"))
    ask(client)
"""


@pytest.mark.slow
def test_workers_tell_the_same(run, pytester):
    here = run(SUITE, "--harness-report=a.json")
    apart = run(SUITE, "-n2", "--harness-report=b.json", apart=True)
    told = [{name: (t.found, t.exchanges) for name, t in read_cases(pytester.path / f"{x}.json").items()} for x in "ab"]
    assert told[0] == told[1]
    lines = [next(line for line in result.outlines if line.startswith("contract:")) for result in (here, apart)]
    assert lines[0] == lines[1]


def test_a_test_that_is_expected_to_fail_may_lose_what_it_likes(run, pytester):
    source = SUITE.replace(
        "def test_lossy(client):\n    lose(client)", "def test_lossy(client):\n    lose(client)\n    assert 0"
    )
    run(source.replace("@", "@pytest.mark.xfail\n@"), "-k", "lossy", "--harness-report=a.json").assert_outcomes(
        xfailed=1
    )
    assert [finding.expected for finding in read_cases(pytester.path / "a.json")["test_lossy"].found] == [True]


def test_a_marker_that_does_not_fit_is_the_error_of_its_test_alone(run):
    source = SUITE.replace('losses=["citation-dropped"]', 'losses="some"')
    run(source, "--harness-report=a.json", "-k", "allowed or good").shows(
        "*@pytest.mark.harness(losses='some'): use one of*", "contract: 1 exchange,*", passed=1, errors=1
    )


def test_recorded_exchanges_are_reported_without_their_secrets(run, pytester, monkeypatch, cassette):
    cassette.unlink()
    key = "sk-live-AbCd1234EfGh5678"
    mock = MockApi()
    with serve_in_thread(mock) as server:
        mock.open(key).script(message(f"your key is {key}"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        result = run(
            SUITE[: SUITE.index('@pytest.mark.cassette("it")\ndef test_expected')],
            "--record",
            "--harness-report=a.json",
        )
    result.assert_outcomes(passed=1)
    (exchange,) = read_cases(pytester.path / "a.json")["test_good"].exchanges
    assert (exchange["status"], len(read_cassette(cassette).interactions)) == (200, 1)
    assert key not in (pytester.path / "a.json").read_text()
    result.stdout.fnmatch_lines(["contract: 1 exchange,*"])


def test_only_what_was_replayed_is_reported(run, pytester):
    run(SUITE, "--harness-report=a.json", "-k", "test_good or test_expected")
    assert [len(trial.exchanges) for trial in read_cases(pytester.path / "a.json").values()] == [1, 1]


# The pace

PACED = """
import time

@pytest.mark.cassette({marker})
def test_it(client):
    began = time.perf_counter()
    list(client.responses.create(model="gpt-4.1", input="hi", stream=True))
    took = time.perf_counter() - began
    assert {expected}
"""


@pytest.mark.parametrize(
    ("marker", "after", "expected"),
    [('"it"', 600.0, "took < 60"), ('"it", pace=False', 600.0, "took < 60"), ('"it", pace=True', 0.4, "took >= 0.4")],
)
def test_a_cassette_is_replayed_at_once_or_as_slowly_as_it_was_recorded(run, pytester, marker, after, expected):
    (made,) = recorded({**HI, "stream": True})
    events = [event["data"] for event in made["events"]]
    chunks = tuple((after * (number > 0), sse(event)) for number, event in enumerate(events))
    stream = replace(
        over_http({**HI, "stream": True}), answer_headers={"content-type": "text/event-stream"}, chunks=chunks
    )
    taped(pytester, stream)
    run(PACED.format(marker=marker, expected=expected)).assert_outcomes(passed=1)
