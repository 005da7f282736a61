"""`responses-harness verify --report FILE`: recordings in the reports that test runs have, a trial for each conversation."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.loss import losses_of
from harness.cassettes.format.interaction import SERVER, Interaction
from harness.cassettes.format.recorded import parse_recorded
from harness.explain.cause import ReportFinding
from harness.items import message
from harness.report.api_coverage import measure_coverage
from harness.report.formats.json_file import read_report
from harness.report.report import Report, ReportCase, Totals
from harness.verify.judging.verdict import FINDINGS
from harness.verify.report_cases import VERDICT_TEXTS, _SharedValues, build_journal
from tests.support.command_line import run_cli
from tests.support.pages import in_page
from tests.support.recordings import HI, KEY, URI, error, exchange, over_http, recorded, sse, streamed, write_jsonl
from tests.support.schemas import assert_conforms
from tests.support.websockets import cassette, connection, create, frames_sent, scripted

ROOT = Path(__file__).parents[2]


def unexpected(case: ReportCase) -> list[ReportFinding]:
    return [finding for finding in case.found if not finding.expected]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


verify = partial(run_cli, "verify")


def reported(*paths: str | Path, code: int = 0) -> Report:
    """Return the JSON report of recordings, which must be as its schema says."""
    result = verify(*paths, "--report", "o.json")
    assert result.exit_code == code, result.output
    assert_conforms(json.loads(Path("o.json").read_text()), "report")
    return read_report(Path("o.json"))


def own(exchanges: list[dict[str, Any]], name: str = "tape.jsonl") -> Path:
    """Return a file of lines whose exchanges have no ids of their own."""
    return write_jsonl(
        Path(), [{key: exchange[key] for key in exchange if key != "id"} for exchange in exchanges], name
    )


def only(report: Report) -> tuple[ReportCase, ReportFinding]:
    (trial,) = report.cases
    (found,) = unexpected(trial)
    return trial, found


# What is told


def test_a_recording_is_a_trial_with_its_exchanges_and_the_surface_that_they_touch() -> None:
    made = recorded(HI, {**HI, "stream": True}, {**HI, "input": 3})
    report = reported(own(made))
    (trial,) = report.cases
    assert (trial.id, trial.file, trial.line, trial.outcome) == ("tape.jsonl", "tape.jsonl", 1, "passed")
    assert [exchange["status"] for exchange in trial.exchanges] == [200, 200, 400]
    assert (trial.exchanges[0]["request"], trial.exchanges[2]["rule"]) == (HI, "invalid_type")
    assert trial.exchanges[1]["events"][-1]["type"] == "response.completed"
    assert "3. POST /responses" in trial.diagram
    assert report.hit["refusals"] == {"invalid_type"}
    assert "response.completed" in report.hit["events"]
    assert report.totals == Totals(tests=1, exchanges=3, expected=1)


(TAKEN,) = recorded(HI)
FOUND = {
    "a request that the mock refuses": (
        {**TAKEN, "request": {**HI, "colour": "blue"}},
        ("unknown_parameter", "colour"),
        "The API accepted the request, but the mock refuses it.\nrule  unknown_parameter\n"
        "mock  Unknown parameter: 'colour'.",
    ),
    "a refusal in other words": (
        exchange(1, {**HI, "input": 3}, 400, error("No numbers.")),
        ("invalid_type", "input"),
        "recorded  400 No numbers.",
    ),
    "a refusal that the mock does not make": (
        exchange(1, HI, 400, error("Not on Sundays.")),
        ("refusals.missed", ""),
        "takes it",
    ),
    "an answer that does not conform": (
        {**TAKEN, "response": {**TAKEN["response"], "status": "done"}},
        ("answers.findings", "status"),
        "The answer does not conform.\nInvalid value: 'done'.",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found_stands_at_its_exchange(name: str) -> None:
    made, (id, at), words = FOUND[name]
    trial, found = only(reported(own([TAKEN, made]), code=1))
    assert (trial.outcome, found.kind, found.id, found.at) == ("failed", "disagreement", id, at)
    assert (found.exchange, found.line, trial.failures[0].name) == (2, 2, "tape.jsonl:2")
    assert words in found.message


def test_a_refusal_is_expected_whoever_makes_it() -> None:
    trial, _ = only(reported(own([exchange(1, HI, 400, error("Not on Sundays."))]), code=1))
    assert [finding.kind for finding in trial.found if finding.expected] == ["refusal"]


def test_a_stream_over_a_websocket_at_its_line() -> None:
    frames = frames_sent(scripted(message("one"), message("two")), create("a"), create("b"))
    place = next(place for place, (_, _, text) in enumerate(frames) if "two" in text and "delta" in text)
    frames[place] = (*frames[place][:2], frames[place][2].replace("two", "too"))
    file = cassette(Path(), connection(*frames))
    trial, found = only(reported(file, code=1))
    assert (len(trial.exchanges), found.id, found.exchange) == (2, "streams.findings", 2)
    lines = file.read_text().splitlines()
    assert lines[found.line - 1].startswith("- ")
    assert lines[found.line - 2] == "sockets:"


def test_a_stream_that_the_mock_renders_differently() -> None:
    (one,) = recorded({**HI, "stream": True, "background": True})
    made = own([{**one, "request": {**HI, "stream": True}, "recorded_at": "2026-01-01"}])
    verify(made, "--respell", "--report", "o.json")
    (trial,) = read_report(Path("o.json")).cases
    found = next(finding for finding in unexpected(trial) if finding.id == "respelled.different")
    assert (found.kind, found.at) == ("disagreement", "events[1]")
    assert found.message.startswith(VERDICT_TEXTS["respelled.different"])
    assert found.message.endswith("mock      response.in_progress")


def test_a_file_that_breaks_off() -> None:
    file = own([TAKEN])
    file.write_text(file.read_text() + '{"method": "POST"\n')
    trial, found = only(reported(file, code=1))
    assert (found.kind, found.place, found.exchange, len(trial.exchanges)) == ("unreadable", "the file", None, 1)
    assert "line 2" in found.message


def test_a_file_that_is_no_recording_and_was_named() -> None:
    Path("a.yaml").write_text("- 1\n")
    trial, found = only(reported("a.yaml", code=1))
    assert (trial.id, trial.outcome, found.kind) == ("a.yaml", "failed", "unreadable")


def test_other_services_leave_an_empty_trial() -> None:
    trial, reason = reported(own([{**TAKEN, "url_path": "/v1/chat/completions"}]), code=2).cases
    assert reason.why.endswith("1 exchange, and none that can be judged. 1 × not judged: /chat/completions.")
    assert (trial.outcome, trial.exchanges, trial.diagram) == ("passed", [], "")


def test_conversations_in_one_file_are_trials_of_their_own() -> None:
    both = write_jsonl(Path(), [{**TAKEN, "id": f"project/{name}.json#0"} for name in "ab"])
    assert [(trial.id, trial.file) for trial in reported(both).cases] == [
        ("project/a.json", "tape.jsonl"),
        ("project/b.json", "tape.jsonl"),
    ]


def test_no_secret_is_reported() -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    reported(own([{**TAKEN, "request_headers": headers, "request": {**HI, "note": KEY}}]), code=1)
    assert KEY not in Path("o.json").read_text()


def test_every_finding_of_verify_has_words() -> None:
    assert set(FINDINGS) <= VERDICT_TEXTS.keys()


# Where it stands, and in which form


def test_files_side_by_side_are_reported_in_order() -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        own([TAKEN], name)
    alone = reported(".")
    assert reported(".", "--jobs", "3") == alone
    assert [trial.id for trial in alone.cases] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_every_form_is_written() -> None:
    names = ["o.json", "o.html", "o.xml", "o.sarif", "o.md"]
    bad = own([exchange(1, HI, 400, error("Not on Sundays."))])
    result = verify(bad, *(word for name in names for word in ("--report", name)))
    assert result.exit_code == 1
    assert "refusals.missed" in result.stdout
    (located,) = json.loads(Path("o.sarif").read_text())["runs"][0]["results"]
    assert located["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "tape.jsonl"
    assert '<failure message="The API refused the request, but the mock accepts it."' in Path("o.xml").read_text()
    assert "1 disagreement" in Path("o.md").read_text()
    [row] = in_page(Path("o.html").read_text())[0].cases
    [cause] = row.causes
    assert (cause.kind, cause.group.split(":")[1], cause.rule) == ("disagreement", "refusals.missed", "")


def test_a_page_alone_shows_what_a_page_beside_other_reports_shows() -> None:
    calls = [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]
    refused = [exchange(3, HI, 400, error("Not on Sundays.")), exchange(4, {**HI, "input": calls}, 400, error("No."))]
    own([TAKEN, *refused])
    for reports in (["--report", "alone.html"], ["--report", "with.html", "--report", "o.json"]):
        assert verify("tape.jsonl", *reports).exit_code == 1
    (alone, cases), (beside, others) = (in_page(Path(name).read_text()) for name in ("alone.html", "with.html"))
    assert (cases, alone.cases, alone.totals, alone.line) == (others, beside.cases, beside.totals, beside.line)
    assert len(cases[0].exchanges) == 3


@pytest.mark.parametrize(("checkout", "place"), [("..", "{here}/a/tape.jsonl"), ("elsewhere", "a/tape.jsonl")])
def test_a_file_is_named_from_the_checkout(monkeypatch: pytest.MonkeyPatch, checkout: str, place: str) -> None:
    Path("a").mkdir()
    own([TAKEN]).rename("a/tape.jsonl")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(Path(checkout).resolve()))
    (trial,) = reported(Path("a/tape.jsonl").resolve()).cases
    assert trial.file == place.format(here=Path.cwd().name)


def test_a_file_elsewhere_keeps_its_whole_path() -> None:
    cassettes = ROOT / "tests/cassettes"
    assert all(trial.file.startswith(cassettes.as_posix()) for trial in reported(cassettes, code=1).cases)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tape.jsonl", "--report", "o.txt"], "--report o.txt: its suffix must be one of .json .html .xml .sarif .md."),
        (["tape.jsonl", "--report", "no/o.json"], "--report no/o.json: no folder no. Create it first."),
        (
            ["--server", "http://a", "--report", "o.json"],
            "--server cannot be combined with options for recordings. Omit --report.",
        ),
    ],
)
def test_a_report_that_cannot_be_made_is_refused_before_anything_is_judged(arguments: list[str], says: str) -> None:
    own([TAKEN])
    result = verify(*arguments)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_a_report_that_cannot_be_written_says_so() -> None:
    Path("o.json").mkdir()
    result = verify(own([TAKEN]), "--report", "o.json")
    assert (result.exit_code, "o.json: cannot be written" in result.stderr) == (2, True)


SAID = {"id": "resp_1", "object": "response", "output": [], "status": "completed"}


def test_an_exchange_has_its_request_its_operation_and_its_answer() -> None:
    (one,) = build_journal([over_http(HI, SAID)]).exchanges
    assert (one.number, one.status, one.request.body, one.answer.body) == (1, 200, HI, SAID)
    assert (one.request.operation, one.request.path, one.request.dialect) == ("POST /responses", "/responses", "openai")
    assert (one.answer.rule, one.answer.disconnection, one.answer.events) == (None, "", None)


def test_a_refusal_names_the_rule_with_which_the_mock_refuses_it() -> None:
    (refused,) = recorded({**HI, "input": 3})
    (one,) = build_journal([over_http(refused["request"], refused["response"], status=400)]).exchanges
    assert (one.status, one.answer.rule) == (400, "invalid_type")


@pytest.mark.parametrize(("status", "answer"), [(400, error("Not on Sundays.")), (400, {"error": "x"}), (500, "x")])
def test_a_refusal_that_no_rule_makes_names_none(status: int, answer: Any) -> None:
    (one,) = build_journal([over_http(HI, answer, status=status)]).exchanges
    assert (one.status, one.answer.rule) == (status, None)


def test_the_rule_of_another_state_is_known_by_its_words() -> None:
    id = "previous_response_not_found"
    gone = error("Previous response with id 'resp_a' not found.", param="previous_response_id", code=id)
    (one,) = build_journal([over_http(HI, gone, status=400)]).exchanges
    assert one.answer.rule == id


def test_a_request_that_is_not_known_is_held_to_no_form() -> None:
    frame = (0.0, SERVER, json.dumps({"type": "response.created", "response": SAID}))
    world = build_journal([Interaction("GET", URI, status=101, frames=(frame,))])
    (one,) = world.exchanges
    assert (one.request.body, one.answer.body) == (None, SAID)
    assert "unknown_parameter" not in measure_coverage([one], world)["rules"]


@pytest.mark.parametrize(("end", "broke"), [("in_progress", "cut off"), ("completed", "")])
def test_a_stream_is_its_events_and_the_object_of_the_last_and_says_if_it_broke_off(end: str, broke: str) -> None:
    events = [{"type": f"response.{kind}", "response": SAID} for kind in ("created", end)]
    (one,) = build_journal([streamed(sse(*events), request=HI, cut=True)]).exchanges
    assert (one.answer.body, one.answer.events, one.answer.disconnection) == (SAID, events, broke)


def test_an_answer_that_never_came_says_so_and_one_of_which_long_values_are_cut_is_whole() -> None:
    answers = [over_http(HI, status=0), replace(over_http(HI, SAID), cut=True), replace(over_http(HI), cut=True)]
    told = [exchange.answer.disconnection for exchange in build_journal([*answers, over_http(HI)]).exchanges]
    assert told == ["no answer", "", "cut off", ""]


def test_equal_items_are_in_memory_once_but_for_those_of_what_a_request_continues() -> None:
    values, twice = _SharedValues(), {**HI, "input": [{"role": "user", "content": "hi"}] * 2}
    bodies = [twice, twice, {**twice, "previous_response_id": "resp_1"}]
    shared = [values.share(parse_recorded(over_http(body, SAID), "", 1)).request for body in bodies]
    first, again, chained = ([id(item) for item in body["input"]] for body in shared)
    assert first == again
    assert len({*first, *chained}) == 4


def test_other_services_are_left_out() -> None:
    elsewhere = [over_http(HI, {}, uri=f"https://a.example/v1/{path}") for path in ("weather", "chat/completions")]
    assert build_journal([*elsewhere, over_http(HI, SAID)]).exchanges[0].number == 1
    assert build_journal(elsewhere).exchanges == []


def test_the_path_tells_the_dialect() -> None:
    uri = "https://acme.example/openai/responses?api-version=2025-04-01-preview"
    (one,) = build_journal([over_http(HI, SAID, uri=uri)]).exchanges
    assert (one.request.dialect, one.request.query) == ("azure", {"api-version": "2025-04-01-preview"})


def test_surface_and_losses_are_those_of_a_mock() -> None:
    note = {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}
    part = {"type": "output_text", "text": "See page 3.", "annotations": [note]}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    bare = {**item, "content": [{**part, "annotations": []}]}
    user = {"role": "user", "content": "hi"}
    second = {**HI, "input": [user, bare, user]}
    world = build_journal([over_http(HI, {**SAID, "output": [item]}), over_http(second, {**SAID, "id": "resp_2"})])
    assert [(lost.loss, lost.exchange) for lost in losses_of(world.exchanges)] == [("citation-dropped", 2)]
    touched = measure_coverage(world.exchanges, world)
    assert (touched["said"], touched["sent"], touched["dialects"]) == ({"message"}, {"message"}, {"openai"})
    assert touched["endpoints"] == {"POST /responses"}
