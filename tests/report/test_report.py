"""What a report may write of a test's exchanges, and how it counts what was found."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.api.models import Model
from harness.core.exchange import ReceivedRequest
from harness.explain.cause import ReportFinding
from harness.explain.find_causes import collect_findings
from harness.explain.refusal import unasked_causes
from harness.explain.render import render_section
from harness.faults import hang_up
from harness.items import message
from harness.report.formats import json_file, junit, markdown
from harness.report.formats.json_file import merge_reports, read_report
from harness.report.judge_world import judge_world
from harness.report.report import (
    MAX_DEPTH,
    MAX_LIST_LENGTH,
    MAX_NAMES,
    MAX_TEXT_LENGTH,
    Report,
    ReportCase,
    Totals,
    count_totals,
    count_unknown_models,
    documentation_of,
    sanitize_value,
    summary_line,
    unknown_model_lines,
)
from harness.server.mock_api import MockApi
from harness.viewer.build_run import build_run
from tests.support.in_process import Client, error
from tests.support.reports import KEY, ask, fill_case, make_mock, post

# What is written


def test_an_exchange_has_all_that_went_to_and_fro() -> None:
    mock = make_mock()
    ask(mock, "hi", stream=True, instructions="You are the planner.")
    trial = fill_case(mock.worlds[KEY])
    (exchange,) = trial.exchanges
    assert (exchange["lane"], exchange["operation"], exchange["status"]) == ("planner", "POST /responses", 200)
    assert exchange["request"]["input"] == "hi"
    assert [event["type"] for event in exchange["events"]][-1] == "response.completed"
    assert exchange["answer"]["output"][0]["content"][0]["text"] == "ok"
    assert "planner" in trial.diagram
    assert trial == ReportCase.from_json(trial.to_json())


def test_a_long_stream_is_drawn_and_kept_by_its_beginning() -> None:
    mock = make_mock([message([f"word{number} " for number in range(MAX_LIST_LENGTH + 9)])])
    ask(mock, "hi", stream=True)
    trial = fill_case(mock.worlds[KEY])
    assert (len(trial.exchanges[0]["events"]), trial.exchanges[0]["events"][-1][:1]) == (MAX_LIST_LENGTH + 1, "…")
    assert "word0" in trial.diagram


def test_a_test_without_a_request_has_no_diagram() -> None:
    assert fill_case(make_mock().worlds[KEY]).diagram == ""


def test_an_answer_that_never_came_has_status_0() -> None:
    mock = make_mock()
    mock.open(KEY).script(hang_up())
    ask(mock, "hi")
    (exchange,) = fill_case(mock.worlds[KEY]).exchanges
    assert (exchange["status"], exchange["broke"], exchange["answer"]) == (0, "no answer", None)


def test_a_body_that_is_no_json_is_a_text() -> None:
    mock = make_mock()
    post(mock, b'{"model": \xff')
    (exchange,) = fill_case(mock.worlds[KEY]).exchanges
    assert exchange["request"] == '{"model": \ufffd'


def test_the_key_and_whatever_looks_like_one_is_hidden_everywhere() -> None:
    mock = make_mock([message(f"your key is {KEY}")])
    other = "sk-proj-abcdefghijklmnopqrstuvwx"
    ask(mock, f"{'x' * (MAX_TEXT_LENGTH - 10)} {other}")
    ask(mock, f"{other} {KEY}", stream=True, metadata={KEY: other}, bogus=other)
    post(mock, f'{{"{KEY}": '.encode())
    mock.open(KEY).script(message(KEY))
    trial = fill_case(mock.worlds[KEY], "failed", why=f"E {KEY}")
    text = json.dumps(trial.to_json())
    assert "[hidden]" in text
    assert not [part for part in (KEY, other, other[:8]) if part in text]


# Totals and the line


def found(kind: Any, expected: bool) -> ReportFinding:
    return ReportFinding(kind, expected, "x")


def test_totals_count_by_kind() -> None:
    kinds = ("refusal", "loss", "unanswered", "unused", "webhook", "client", "client")
    both = [found(kind, expected) for kind in kinds for expected in (True, False)]
    assert count_totals(3, [*both, *(found(kind, True) for kind in kinds[1:])]) == Totals(
        1, 3, expected=1, unexpected=1, losses=3, unanswered=1, unused=1, webhooks=1, client=2
    )


def test_the_line_of_a_good_run() -> None:
    assert summary_line(Totals(9, 214, expected=2)) == "contract: 214 exchanges, 2 refusals expected, 0 losses"


def test_the_line_of_a_bad_run() -> None:
    assert summary_line(Totals(1, 1, 1, 2, 1, 1, 2)) == (
        "contract: 1 exchange, 1 refusal expected, 2 unexpected, 1 loss, 1 unanswered, 2 turns unused"
    )


def test_the_line_of_recordings() -> None:
    both = [found(kind, expected) for kind in ("disagreement", "unreadable") for expected in (True, False)]
    assert summary_line(count_totals(3, both)) == (
        "contract: 3 exchanges, 0 refusals expected, 0 losses, 1 disagreement, 1 unreadable"
    )


def test_a_rule_and_a_loss_are_explained_and_nothing_else() -> None:
    assert documentation_of("call_needs_output")["source"]
    assert documentation_of("citation-dropped")["fix"]
    assert documentation_of("bogus") == {}


LINE = 'model "gpt-5.9": 0 facts; nothing was refused for it, in 2 requests'


@pytest.fixture
def client() -> Client:
    return Client()


class TestAModelThatNoTableKnows:
    def test_a_model_that_no_table_knows_is_counted_by_its_requests(self, client: Client) -> None:
        for name in (
            "gpt-5.9",
            "gpt-4.1",
            "gpt-5.9",
            "gpt-6-rosalind",
            "ft:gpt-4.1-mini:acme::9aBc",
            "gpt-4o-2099-01-01",
            "gtp-4.1",
        ):
            client.ask(model=name)
        assert count_unknown_models(client.world) == {
            "gpt-5.9": 2,
            "gpt-6-rosalind": 1,
            "ft:gpt-4.1-mini:acme::9aBc": 1,
        }

    def test_an_unknown_model_is_known_when_the_test_has_added_it(self, client: Client) -> None:
        client.mock.add_model(Model("gpt-5.9", "gpt-5.9"))
        client.ask(model="gpt-5.9")
        client.mock.organization(models={"acme"})
        client.ask(model="acme")
        assert not count_unknown_models(client.world)

    def test_a_model_that_no_table_knows_is_a_deployment_on_azure(self) -> None:
        api = MockApi(keys=["sk-unit"])
        body = orjson.dumps({"model": "our-deployment", "input": "hi"})
        answer = api.handle(ReceivedRequest("POST", "/openai/v1/responses", {"api-key": "sk-unit"}, raw=body))
        assert answer.rule is None
        assert not count_unknown_models(api.open("sk-unit").world)

    @pytest.mark.parametrize("body", [{"model": ["a"]}, {"model": None}, {"model": {"a": 1}}, ["model"], "model"])
    def test_a_model_that_no_table_knows_is_no_matter_of_what_has_no_name(self, client: Client, body: object) -> None:
        client.send("POST /responses", body)
        assert not count_unknown_models(client.world)

    def test_a_model_that_no_table_knows_has_a_line_in_every_format(self, tmp_path: Path) -> None:
        report = Report(unknown_models={"gpt-5.9": 2})
        file = tmp_path / "report.json"
        file.write_text(json_file.render(report))
        assert orjson.loads(file.read_bytes())["unknown_models"] == {"gpt-5.9": 2}
        assert merge_reports([read_report(file), report]).unknown_models == {"gpt-5.9": 4}
        assert LINE.replace('"', "&quot;") in junit.render(report).replace('"', "&quot;")
        assert "0 facts; nothing was refused for it, in 2 requests" in markdown.render(report)
        assert build_run(report)[0].notes == [LINE]

    def test_a_model_that_no_table_knows_has_a_line_in_the_report_of_a_server(self, client: Client) -> None:
        for _ in range(2):
            client.ask(model="gpt-5.9")
        judged = judge_world(client.mock)
        assert (judged.verdict, judged.report.splitlines()[-1]) == ("", LINE)

    def test_unknown_models_are_named_by_the_number_of_their_requests(self) -> None:
        lines = unknown_model_lines({f"m{number}": number for number in range(1, MAX_NAMES + 4)})
        assert (len(lines), lines[0].partition(":")[0]) == (MAX_NAMES + 1, f'model "m{MAX_NAMES + 3}"')
        assert lines[-1] == "… and 3 more models without facts"

    def test_an_unknown_model_that_is_nearly_a_known_one_is_a_question(self) -> None:
        (line,) = unknown_model_lines({"gpt5.6-sol": 1})
        assert line.endswith("in 1 request; did you mean gpt-5.6-sol?")

    def test_a_model_that_no_table_knows_cannot_break_a_line_or_a_terminal(self) -> None:
        assert unknown_model_lines({"a\x1b[31m\nb": 1}) == [
            'model "a\\u001b[31m\\nb": 0 facts; nothing was refused for it, in 1 request'
        ]


class TestASlip:
    def test_a_slip_is_refused_in_the_words_of_the_api(self, client: Client) -> None:
        words = (400, "The requested model 'gtp-4.1' does not exist.", "model", "model_not_found")
        assert error(client.ask(model="gtp-4.1")) == words
        assert client.send("GET /models/gtp-4.1").status == 404

    def test_a_slip_is_reported_with_what_was_meant(self, client: Client) -> None:
        client.ask(model="gtp-4.1")
        (cause,) = unasked_causes(client.world, [])
        (finding,) = collect_findings(client.world, client.world.exchanges, [], passed=False)
        for fix in (dict(cause.rows)["fix"], finding.fix):
            assert fix.startswith("Did you mean 'gpt-4.1'? Use a model of this key")
        assert "Did you mean 'gpt-4.1'?" in render_section(client.world, [cause], verbose=False)

    def test_a_misspelt_model_is_known_when_the_test_has_added_it(self, client: Client) -> None:
        client.mock.add_model(Model("gtp-4.1", "gtp-4.1"))
        assert client.ask(model="gtp-4.1").status == 200
        assert client.send("GET /models/gtp-4.1").status == 200

    def test_a_slip_is_a_deployment_on_azure(self) -> None:
        api = MockApi(keys=["sk-unit"])
        body = orjson.dumps({"model": "gtp-4.1", "input": "hi"})
        answer = api.handle(ReceivedRequest("POST", "/openai/v1/responses", {"api-key": "sk-unit"}, raw=body))
        assert answer.rule is None

    def test_a_slip_that_names_no_model_has_no_advice(self, client: Client) -> None:
        client.ask(model="gpt-nonexistent")
        (cause,) = unasked_causes(client.world, [])
        assert "Did you mean" not in dict(cause.rows)["fix"]


def test_values_are_cut_where_a_report_would_grow_without_end() -> None:
    deep: Any = "end"
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    assert sanitize_value("a" * (MAX_TEXT_LENGTH + 7)) == f"{'a' * MAX_TEXT_LENGTH}… 7 more characters"
    assert sanitize_value(list(range(MAX_LIST_LENGTH + 3)))[-2:] == [MAX_LIST_LENGTH - 1, "… 3 more"]
    assert "end" not in json.dumps(sanitize_value(deep))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, True),
        (None, None),
        (1.5, 1.5),
        (1 - (1 << 53), 1 - (1 << 53)),
        (1 << 53, str(1 << 53)),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (b"a\xff", "aÿ"),
        ("\ud800", "\\ud800"),
        (frozenset({1}), "frozenset({1})"),
        ({1: (2,)}, {"1": [2]}),
    ],
)
def test_values_that_json_lacks_are_written_as_text(value: Any, written: Any) -> None:
    assert sanitize_value(value) == written
