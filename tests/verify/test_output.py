"""What a judgement of recordings prints: the first of everything, counted, and no secret."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from harness.core.errors import ConfigError
from harness.live.conformance.score import Score, explain_nothing_asked
from harness.report.formats.json_file import read_report
from harness.report.report import Report
from harness.verify import output
from harness.verify.judging.circumstances import parse_host
from tests.support.command_line import run_cli
from tests.support.recordings import HI, error, exchange, judged, recorded, write_jsonl
from tests.support.schemas import assert_conforms


def test_the_report_lists_the_first_findings_and_where_the_rest_is(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    tally, _ = judged(tmp_path, write_jsonl(tmp_path, [{**one, "request": {**HI, "colour": n}} for n in range(30)]))
    text = list(output.summary_lines(tally))
    assert any("Unknown parameter: 'colour'." in line for line in text)
    assert any("10 more" in line for line in text)


def test_each_number_counts_exchanges_each_list_differences(tmp_path: Path) -> None:
    good, wrong = recorded({**HI, "stream": True}, {**HI, "stream": True})
    for event in wrong["events"][1:3]:
        event["data"] |= {"sequence_number": "x", "colour": "blue"}
        del event["data"]["type"]
    wrong["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5}
    good["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5, "colour": "blue"}
    tally, report = judged(tmp_path, write_jsonl(tmp_path, [good, wrong]), respelled=True)
    assert (report["streams"]["judged"], report["streams"]["conform"], len(report["streams"]["findings"])) == (2, 1, 2)
    assert (report["respelled"]["judged"], len(report["respelled"]["different"])) == (1, 2)
    rows = list(zip(*(column.cells for column in output.counts_table(tally).columns), strict=True))
    assert rows[3:] == [("streams", "2", "1", "1", "-", "1"), ("respelled", "1", "-", "1", "-", "-")]


GATEWAY = "https://llm.corp.example:4000/openai-proxy/v1/responses"

(JUDGED,) = recorded(HI)
OTHER = {**{key: JUDGED[key] for key in JUDGED if key not in ("provider", "url_path", "id")}, "url": GATEWAY}
"""An exchange with another host."""
UNVERIFIABLE = exchange(1, HI, 401, error("Incorrect API key provided: sk-a.", code="invalid_api_key"))


class TestVerify:
    @pytest.mark.parametrize(
        ("files", "why"),
        [
            ({}, "no file there has a recording's suffix"),
            (dict.fromkeys(("package.json", "notes.yaml"), '{"name": "x"}'), "2 files, but no recording"),
            ({"empty.yaml": "version: 1\ninteractions: []\n"}, "the recordings have no exchanges"),
        ],
        ids=["no files", "files that are no recordings", "a recording of nothing"],
    )
    def test_verify_of_a_folder_with(self, tmp_path: Path, files: dict[str, str], why: str) -> None:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        self.check(run_cli("verify", tmp_path), why)

    @pytest.mark.parametrize(
        ("exchanges", "why"),
        [
            (
                [OTHER] * 3,
                "3 exchanges, and none that can be judged. 3 × another service: llm.corp.example. "
                "Judge a gateway by --host llm.corp.example.\n",
            ),
            (
                [{**OTHER, "url": "https://api.anthropic.com/v1/messages"}],
                "1 exchange, and none that can be judged. 1 × another service: api.anthropic.com.\n",
            ),
            ([{**OTHER, "url": "https://api.openai.com/v1/chat/completions"}], "1 × not judged: /chat/completions"),
            ([UNVERIFIABLE], "1 × "),
        ],
        ids=["another host", "another service that is no gateway", "other endpoints", "what no recording can show"],
    )
    def test_verify_of_exchanges_with(self, tmp_path: Path, exchanges: list[dict[str, Any]], why: str) -> None:
        self.check(run_cli("verify", write_jsonl(tmp_path, exchanges)), why)

    def test_the_reason_is_in_the_json(self, tmp_path: Path) -> None:
        file = write_jsonl(tmp_path, [OTHER])
        run_cli("verify", file, "--json", tmp_path / "said.json")
        said = json.loads((tmp_path / "said.json").read_text())
        assert_conforms(said, "verify")
        assert said["nothing_judged"].startswith("nothing was judged: 1 exchange, and none that can be judged.")

    def test_the_reason_fails_the_reports(self, tmp_path: Path) -> None:
        as_json, as_xml = tmp_path / "a.json", tmp_path / "a.xml"
        run_cli("verify", write_jsonl(tmp_path, [OTHER]), "--report", as_json, "--report", as_xml)
        case = read_report(as_json).cases[-1]
        assert (case.id, case.outcome, case.found[0].kind) == ("nothing judged", "error", "unreadable")
        assert 'errors="1"' in as_xml.read_text()
        assert "llm.corp.example" in as_xml.read_text()

    @pytest.mark.parametrize("more", [(), ("bare",)])
    def test_a_finding_goes_before(self, tmp_path: Path, more: tuple[str, ...]) -> None:
        (broken := tmp_path / "broken.json").write_text('{"interactions": {"a": 1}}')
        paths = [tmp_path / name for name in more]
        for path in paths:
            path.mkdir()
        result = run_cli("verify", broken, *paths)
        assert result.exit_code == 1
        assert all(f"nothing was judged of {path.as_posix()}:" in result.stderr for path in paths)

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_one_of_several_paths_that_held_nothing(self, tmp_path: Path, jobs: str) -> None:
        good, bare, void = (tmp_path / name for name in ("good", "bare", "void.yaml"))
        good.mkdir(), bare.mkdir()
        write_jsonl(good, [JUDGED])
        (bare / "package.json").write_text('{"name": "x"}')
        void.write_text("version: 1\ninteractions: []\n")
        report = tmp_path / "said.json"
        result = run_cli("verify", good, bare, void, "--jobs", jobs, "--json", report)
        assert result.exit_code == 2, result.stdout
        assert "requests  1       1" in result.stdout
        why = f"nothing was judged of {bare.as_posix()}, {void.as_posix()}: no exchange is recorded there."
        assert f"responses-harness: {why} Correct the path, record it again, or leave it out.\n" in result.stderr
        assert json.loads(report.read_text())["nothing_judged"].startswith(why)
        assert run_cli("verify", good, good / "tape.jsonl").exit_code == 0

    def test_files_that_are_no_recordings_are_named_on_request(self, tmp_path: Path) -> None:
        write_jsonl(tmp_path, [JUDGED])
        (tmp_path / "package.json").write_text('{"name": "x"}')
        plain, verbose = run_cli("verify", tmp_path), run_cli("verify", "-v", tmp_path)
        assert (plain.exit_code, verbose.exit_code) == (0, 0)
        assert plain.stdout.endswith("others  1 file that is not a recording; -v names them\n")
        assert f"  {(tmp_path / 'package.json').as_posix()}: it has no recorded exchanges." in verbose.stdout
        run_cli("verify", tmp_path, "--json", tmp_path / "said.json")
        (named,) = json.loads((tmp_path / "said.json").read_text())["other_files"]
        assert named["file"].endswith("package.json")

    def check(self, result: Result, why: str) -> None:
        assert result.exit_code == 2, result.stdout
        assert result.stderr.startswith("responses-harness: nothing was judged: ")
        assert why in result.stderr


class TestGateways:
    def verify(self, folder: Path, *exchanges: dict[str, Any], hosts: tuple[str, ...] = ("corp.example",)) -> Result:
        return run_cli("verify", write_jsonl(folder, exchanges), *(word for host in hosts for word in ("--host", host)))

    @pytest.mark.parametrize(
        "host", ["llm.corp.example", "LLM.corp.example:4000", "https://corp.example/x", "corp.example"]
    )
    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_their_exchanges_are_judged(self, tmp_path: Path, host: str, jobs: str) -> None:
        files = [write_jsonl(tmp_path, [OTHER] * 2, name) for name in ("a.jsonl", "b.jsonl")]
        result = run_cli("verify", *files, "--host", host, "--jobs", jobs)
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[1].split() == ["requests", "4", "4", "-", "-", "-"]

    @pytest.mark.parametrize(
        "path", ["/responses", "/api/v1/responses", "/v1/acct/gw/openai/responses", "/v1/responses"]
    )
    def test_wherever_the_api_is_below_them(self, tmp_path: Path, path: str) -> None:
        result = self.verify(tmp_path, {**OTHER, "url": f"https://gw.corp.example{path}"})
        assert (result.exit_code, result.stdout.splitlines()[1].split()[1]) == (0, "1"), result.output

    def test_what_breaks_the_contract_is_found(self, tmp_path: Path) -> None:
        result = self.verify(tmp_path, {**OTHER, "request": {**HI, "colour": "blue"}})
        assert (result.exit_code, "Unknown parameter: 'colour'." in result.stdout) == (1, True)

    def test_the_option_can_be_repeated(self, tmp_path: Path) -> None:
        local = {**OTHER, "url": "http://10.0.0.7:8000/v1/responses"}
        result = self.verify(tmp_path, OTHER, local, hosts=("corp.example", "10.0.0.7"))
        assert result.stdout.splitlines()[1].split()[:2] == ["requests", "2"]

    def test_unverifiable_exchanges_are_reported_beside_others(self, tmp_path: Path) -> None:
        result = self.verify(tmp_path, JUDGED, OTHER, hosts=())
        assert result.exit_code == 0
        told = "skipped  1 request for responses to llm.corp.example: --host llm.corp.example judges such"
        assert told in result.stdout

    def test_one_that_no_exchange_is_with_is_a_mistake(self, tmp_path: Path) -> None:
        result = self.verify(tmp_path, JUDGED, OTHER, hosts=("lm.corp.example",))
        assert result.exit_code == 2
        assert "--host lm.corp.example: no exchange is with that host." in result.stderr
        assert "The hosts of these recordings: llm.corp.example." in result.stderr

    @pytest.mark.parametrize("text", ["", "https://", "a b", "*.example", "http://["])
    def test_what_is_no_host(self, text: str) -> None:
        with pytest.raises(ConfigError, match="pass a host name"):
            parse_host(text)


class TestServer:
    def test_a_score_without_an_answer_to_judge_is_none(self) -> None:
        score = Score("http://x/v1", "m")
        score.refusals["pairing"] = score.accepts["pairing"] = Counter(limited=3)
        assert "was answered: " not in explain_nothing_asked(Score("http://x/v1", "m", stopped="gone"))
        assert (
            explain_nothing_asked(score) == "nothing was judged: no question to http://x/v1 was answered: 6 × limited."
        )


class TestReport:
    def test_one_of_no_exchange(self, tmp_path: Path) -> None:
        from harness.report.formats import write_report

        write_report(Report(), tmp_path / "a.json", ".json")
        result = run_cli("report", tmp_path / "a.json", "--markdown", tmp_path / "a.md")
        assert (result.exit_code, (tmp_path / "a.md").exists()) == (2, True)
        assert "responses-harness: nothing was tested: 0 tests with no exchange." in result.stderr
