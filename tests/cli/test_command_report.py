"""What is written of the requests of a command when it has ended: reports, traces, a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.report.formats import FORMATS
from harness.viewer.trace import list_traces, read_trace
from tests.support.served_commands import program, serve


class TestTheReport:
    @pytest.mark.slow
    def test_the_report_is_written_in_all_forms_with_a_case_for_each_world(self, script: str, tmp_path: Path) -> None:
        files = {suffix: tmp_path / f"report{suffix}" for suffix in FORMATS}
        ending = (
            "ask(model='gpt-5.9'); call = urllib.request.Request(os.environ['HARNESS_URL'] + '/_harness/world', "
            "method='DELETE', headers={'authorization': 'Bearer sk-ended'}); ask('sk-ended'); urllib.request.urlopen(call)"
        )
        options = [part for file in files.values() for part in ("--report", str(file))]
        assert serve("--script", script, *options, *program(ending)).returncode == 1
        made = json.loads(files[".json"].read_text())
        assert [(case["id"], case["outcome"], len(case["exchanges"])) for case in made["tests"]] == [
            ("sk-ended", "failed", 1),
            ("sk-anything", "failed", 1),
        ]
        assert all(file.stat().st_size > 200 for file in files.values())
        assert made["unknown_models"] == {"gpt-5.9": 1}

    @pytest.mark.slow
    def test_the_report_is_a_trace_for_a_world_with_a_verdict_on_demand(self, script: str, tmp_path: Path) -> None:
        asking = "ask('sk-one'); ask('sk-one'); ask('sk-two')"
        assert serve("--script", script, "--trace", str(tmp_path / "traces"), *program(asking)).returncode == 1
        [trace] = map(read_trace, list_traces([tmp_path / "traces"]))
        assert (trace.case.row.name, trace.case.row.outcome, len(trace.case.exchanges)) == ("sk-two", "failed", 1)
        assert [cause.kind for cause in trace.case.row.causes] == ["unused"]

    @pytest.mark.slow
    def test_the_report_has_a_failed_case_for_requests_with_an_unknown_key(self, tmp_path: Path) -> None:
        files = {suffix: tmp_path / f"report{suffix}" for suffix in (".json", ".xml", ".sarif", ".md")}
        options = [part for file in files.values() for part in ("--report", str(file))]
        assert serve(*options, *program("ask(); ask(key='test'); ask(key='test')")).returncode == 1
        passed, failed = json.loads(files[".json"].read_text())["tests"]
        assert (passed["id"], passed["outcome"]) == ("sk-anything", "passed")
        assert (failed["id"], failed["outcome"], len(failed["exchanges"])) == (
            "requests with an unknown key",
            "failed",
            2,
        )
        assert failed["why"].startswith("2 requests came with an unknown key, the last one POST /resp")
        assert 'failures="1"' in files[".xml"].read_text()
        assert all("Incorrect API key provided: test." in files[suffix].read_text() for suffix in (".sarif", ".md"))

    @pytest.mark.slow
    def test_says_what_is_permitted(self, script: str, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        serve("--script", script, "--unused", "allow", "--report", str(file), *program("ask()"))
        made = json.loads(file.read_text())
        assert [case["outcome"] for case in made["tests"]] == ["passed"]
        assert [finding["expected"] for finding in made["tests"][0]["found"]] == [True]
