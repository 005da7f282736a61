"""A model that no table knows has a line in every report; a slip of the keyboard is refused, and told what was meant."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from harness.api.models import Model
from harness.core.exchange import ReceivedRequest
from harness.explain.findings import collect_findings
from harness.explain.refusal import unasked_causes
from harness.explain.render import render_section
from harness.report.formats import json_file, junit, markdown
from harness.report.formats.json_file import merge_reports, read_report
from harness.report.report import Report
from harness.report.unknown_models import MAX_NAMES, count_unknown_models, unknown_model_lines
from harness.server.judgement import judge_world
from harness.server.mock_api import MockApi
from harness.viewer.build_run import build_run
from tests.support.in_process import Client, error

LINE = 'model "gpt-5.9": no table knows it, 2 requests under it'


@pytest.fixture
def client() -> Client:
    return Client()


class TestAModelThatNoTableKnows:
    def test_is_counted_by_its_requests(self, client: Client) -> None:
        for name in ("gpt-5.9", "gpt-4.1", "gpt-5.9", "ft:gpt-4.1-mini:acme::9aBc", "gpt-4o-2099-01-01", "gtp-4.1"):
            client.ask(model=name)
        assert count_unknown_models(client.world) == {"gpt-5.9": 2, "ft:gpt-4.1-mini:acme::9aBc": 1}

    def test_is_known_when_the_test_has_told_of_it(self, client: Client) -> None:
        client.mock.add_model(Model("gpt-5.9", "gpt-5.9"))
        client.ask(model="gpt-5.9")
        client.mock.organization(models={"acme"})
        client.ask(model="acme")
        assert not count_unknown_models(client.world)

    def test_is_a_deployment_on_azure(self) -> None:
        api = MockApi(keys=["sk-unit"])
        body = orjson.dumps({"model": "our-deployment", "input": "hi"})
        answer = api.handle(ReceivedRequest("POST", "/openai/v1/responses", {"api-key": "sk-unit"}, raw=body))
        assert answer.rule is None
        assert not count_unknown_models(api.open("sk-unit").world)

    @pytest.mark.parametrize("body", [{"model": ["a"]}, {"model": None}, {"model": {"a": 1}}, ["model"], "model"])
    def test_is_no_matter_of_what_has_no_name(self, client: Client, body: object) -> None:
        client.send("POST /responses", body)
        assert not count_unknown_models(client.world)

    def test_has_a_line_in_every_format(self, tmp_path: Path) -> None:
        report = Report(unknown_models={"gpt-5.9": 2})
        file = tmp_path / "report.json"
        file.write_text(json_file.render(report))
        assert orjson.loads(file.read_bytes())["unknown_models"] == {"gpt-5.9": 2}
        assert merge_reports([read_report(file), report]).unknown_models == {"gpt-5.9": 4}
        assert LINE.replace('"', "&quot;") in junit.render(report).replace('"', "&quot;")
        assert "no table knows it, 2 requests under it" in markdown.render(report)
        assert build_run(report)[0].notes == [LINE]

    def test_has_a_line_in_the_report_of_a_server(self, client: Client) -> None:
        for _ in range(2):
            client.ask(model="gpt-5.9")
        judged = judge_world(client.mock)
        assert (judged.verdict, judged.report.splitlines()[-1]) == ("", LINE)

    def test_of_which_there_are_many_are_named_by_the_number_of_their_requests(self) -> None:
        lines = unknown_model_lines({f"m{number}": number for number in range(1, MAX_NAMES + 4)})
        assert (len(lines), lines[0].partition(":")[0]) == (MAX_NAMES + 1, f'model "m{MAX_NAMES + 3}"')
        assert lines[-1] == "… and 3 more models that no table knows"

    def test_cannot_break_a_line_or_a_terminal(self) -> None:
        assert unknown_model_lines({"a\x1b[31m\nb": 1}) == [
            'model "a\\u001b[31m\\nb": no table knows it, 1 request under it'
        ]


class TestASlip:
    def test_is_refused_in_the_words_of_the_api(self, client: Client) -> None:
        words = (400, "The requested model 'gtp-4.1' does not exist.", "model", "model_not_found")
        assert error(client.ask(model="gtp-4.1")) == words
        assert client.send("GET /models/gtp-4.1").status == 404

    def test_is_reported_with_what_was_meant(self, client: Client) -> None:
        client.ask(model="gtp-4.1")
        (cause,) = unasked_causes(client.world, [])
        (finding,) = collect_findings(client.world, client.world.exchanges, [], passed=False)
        for fix in (dict(cause.rows)["fix"], finding.fix):
            assert fix.startswith("Did you mean 'gpt-4.1'? Use a model of this key")
        assert "Did you mean 'gpt-4.1'?" in render_section(client.world, [cause], verbose=False)

    def test_is_taken_when_the_test_has_told_of_it(self, client: Client) -> None:
        client.mock.add_model(Model("gtp-4.1", "gtp-4.1"))
        assert client.ask(model="gtp-4.1").status == 200
        assert client.send("GET /models/gtp-4.1").status == 200

    def test_is_a_deployment_on_azure(self) -> None:
        api = MockApi(keys=["sk-unit"])
        body = orjson.dumps({"model": "gtp-4.1", "input": "hi"})
        answer = api.handle(ReceivedRequest("POST", "/openai/v1/responses", {"api-key": "sk-unit"}, raw=body))
        assert answer.rule is None

    def test_that_names_no_model_has_no_advice(self, client: Client) -> None:
        client.ask(model="gpt-nonexistent")
        (cause,) = unasked_causes(client.world, [])
        assert "Did you mean" not in dict(cause.rows)["fix"]
