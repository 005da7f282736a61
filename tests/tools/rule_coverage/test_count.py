"""What recordings say of each rule: seen, right, undecided, passed."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import harness.foundry  # noqa: F401  (registers every rule)
from harness.contract.rule import RULES
from harness.core.errors import HarnessError
from tests.support.recordings import error, exchange, write_jsonl
from tests.support.shared import FOUNDRY_RECORDINGS, PRESENT, RECORDINGS, SHARED
from tools.rule_coverage import (
    NEVER_MET,
    RuleRecord,
    RuleRecords,
    app,
    count_met_rules,
    coverage_table,
    describe_records,
    load_kept_records,
    record_rows,
    write_kept_records,
)
from tools.rule_evidence.cassettes import CASSETTES, EVIDENCE_LEVELS

RECORDED_ELSEWHERE = {
    *("agent_mcp_url_invalid", "agent_not_there", "agent_tools_given_before", "agent_version_not_there"),
    *("async_tools_unsupported", "async_with_parallel_agents", "chosen_tool_without_tools"),
    *("file_search_store_missing", "hosted_response_not_found", "inject_call_answered", "inject_call_unknown"),
    *("input_file_not_found", "item_already_in_conversation", "item_cursor_not_found", "object_not_found"),
    *("outputs_not_expected", "path_ids", "project_conversation_items", "project_conversation_not_found"),
    *("project_object_not_found", "run_without_input", "thread_object_not_found", "truncation_unsupported"),
    *("update_active_run", "user_isolated", "web_search_sources"),
}
"""Rules whose recording is public and not among those that are counted, so that nothing here can prove them."""
REPORTED_NOT_MET = 112
"""So many rules rest on reports alone: whoever adds one counts it here, a recording of one takes it away."""
NO_MODEL = "missing_required_parameter"
CREATE_WITHOUT_MODEL = error("Missing required parameter: 'model'.", param="model", code=NO_MODEL)


def write_recording(path: Path, status: int, answer: Any = None, **body: Any) -> Path:
    request = {name: value for name, value in {"model": "gpt-4.1", "input": "hi", **body}.items() if value}
    return write_jsonl(path.parent, [exchange(0, request, status, answer, recorded_at="2026-08-03")], path.name)


def records_of(path: Path, status: int, answer: Any = None, **body: Any) -> RuleRecords:
    return count_met_rules([write_recording(path / "a.jsonl", status, answer, **body)], "2026-11-23")


@pytest.mark.parametrize(
    ("status", "answer", "body", "met"),
    [
        (400, CREATE_WITHOUT_MODEL, {"model": None}, {NO_MODEL: RuleRecord(seen=1, right=1)}),
        (200, None, {"model": None}, {NO_MODEL: RuleRecord(seen=1)}),
        (400, CREATE_WITHOUT_MODEL, {}, {NO_MODEL: RuleRecord(seen=1)}),
        (400, error("Invalid type for 'x': y."), {"model": None}, {NO_MODEL: RuleRecord(seen=1)}),
        (
            400,
            CREATE_WITHOUT_MODEL,
            {"colour": "red"},
            {"unknown_parameter": RuleRecord(seen=1), NO_MODEL: RuleRecord(seen=1)},
        ),
    ],
    ids=["the same refusal", "the API accepted it", "the mock accepts it", "other words", "another rule"],
)
def test_a_rule_was_right_where_the_mock_refuses_as_recorded_and_else_wrong(tmp_path: Path, status, answer, body, met):
    records = records_of(tmp_path, status, answer, **body)
    assert {id: record for id, record in records.rules.items() if record.is_met} | met == met
    assert {id: records.of(id) for id in met} == met
    assert (records.recordings, records.exchanges) == (1, 1)


def test_what_depends_on_the_account_is_undecided(tmp_path: Path) -> None:
    quota = "insufficient_quota"
    answer = error(RULES[quota].error.message, type=quota, code=quota)
    assert records_of(tmp_path, 429, answer).of("insufficient_quota") == RuleRecord(undecided=1)


def test_a_rule_that_lets_an_accepted_request_pass_is_counted_and_not_met(tmp_path: Path) -> None:
    record = records_of(tmp_path, 200).of("input_empty")
    assert record == RuleRecord(passed=1)
    assert not record.is_met
    assert records_of(tmp_path, 200).of("missing_required_parameter") == RuleRecord()


def test_recordings_of_which_nothing_can_be_judged_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="nothing was judged"):
        count_met_rules([tmp_path], "2026-11-23")
    with pytest.raises(HarnessError, match="no such file or folder"):
        count_met_rules([tmp_path / "nowhere"], "2026-11-23")


def test_a_kept_count_is_read_as_it_was_written(tmp_path: Path) -> None:
    records = RuleRecords(
        "2026-11-23", 2, 5, {"b": RuleRecord(3, 2, 1, 7), "a": RuleRecord(), "c": RuleRecord(passed=1)}
    )
    write_kept_records(records, ("a", "b", "c"), tmp_path / "kept.json")
    assert (tmp_path / "kept.json").read_text().splitlines() == [
        "{",
        '  "format": 1,',
        '  "made": "2026-11-23",',
        '  "recordings": 2,',
        '  "exchanges": 5,',
        '  "rules": {',
        '    "b": {"seen":3,"right":2,"undecided":1,"passed":7},',
        '    "c": {"passed":1}',
        "  }",
        "}",
    ]
    kept = load_kept_records(tmp_path / "kept.json")
    assert (kept.made, kept.recordings, kept.exchanges) == ("2026-11-23", 2, 5)
    assert [kept.of(name) for name in "abc"] == [RuleRecord(), RuleRecord(3, 2, 1, 7), RuleRecord(passed=1)]


class TestThePackage:
    def test_the_counts_are_of_rules_that_there_are(self) -> None:
        kept = load_kept_records()
        assert set(kept.rules) - set(RULES) == set()
        assert all(rule.right <= rule.seen for rule in kept.rules.values())
        assert kept.recordings > 3000
        assert kept.exchanges > 6000

    def test_every_rule_has_counts_or_is_marked(self) -> None:
        rows = record_rows(RULES, load_kept_records())
        assert [row["id"] for row in rows] == list(RULES)
        columns = {column.header: list(column.cells) for column in coverage_table(rows).columns}
        marked = {id for id, right in zip(columns["id"], columns["right"], strict=True) if right == NEVER_MET}
        assert marked == {row["id"] for row in rows if not row["seen"] and not row["undecided"]}

    def test_what_claims_to_be_recorded_was_met_and_what_was_met_claims_it(self) -> None:
        kept = load_kept_records()
        not_met = {(rule.level, rule.id) for rule in RULES.values() if not kept.of(rule.id).is_met}
        assert {id for level, id in not_met if level == "recorded"} == RECORDED_ELSEWHERE
        assert sum(level == "reported" for level, _ in not_met) == REPORTED_NOT_MET
        met = {rule.level for rule in RULES.values() if kept.of(rule.id).seen}
        assert met == set(EVIDENCE_LEVELS)

    def test_most_of_what_was_seen_is_right(self) -> None:
        kept = load_kept_records()
        seen, right = (sum(getattr(rule, name) for rule in kept.rules.values()) for name in ("seen", "right"))
        assert right >= 0.99 * seen

    @pytest.mark.slow
    @pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")
    def test_the_counts_are_those_of_today(self) -> None:
        kept, counted = load_kept_records(), count_met_rules((CASSETTES, *RECORDINGS, FOUNDRY_RECORDINGS), "today")
        fix = f"python -m tools.rule_coverage --keep cassettes {SHARED}/corpus {SHARED}/corpus-2 {SHARED}/foundry"
        assert (kept.recordings, kept.exchanges) == (counted.recordings, counted.exchanges), fix
        for name in ("seen", "right", "undecided"):
            assert {id: getattr(kept.of(id), name) for id in RULES} == {
                id: getattr(counted.of(id), name) for id in RULES
            }, fix


class TestTheCommand:
    @pytest.mark.slow
    def test_the_coverage_is_that_of_the_last_count(self) -> None:
        said = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
        kept = load_kept_records()
        assert said["counted"] == {"made": kept.made, "recordings": kept.recordings, "exchanges": kept.exchanges}
        assert [row["id"] for row in said["rules"]] == list(RULES)
        everything = said["areas"][-1]
        assert everything["never_met"] == sum(not row["met"] for row in said["rules"])
        assert everything["seen"] == sum(row["seen"] for row in said["rules"])
        assert describe_records(kept) in CliRunner().invoke(app, []).stdout

    @pytest.mark.slow
    def test_the_coverage_of_ones_own_recordings(self, tmp_path: Path) -> None:
        recording = write_recording(tmp_path / "a.jsonl", 400, CREATE_WITHOUT_MODEL, model=None)
        result = CliRunner().invoke(app, [str(recording), "--json"])
        rows = {row["id"]: row for row in json.loads(result.stdout)["rules"]}
        counts = {"seen": 1, "right": 1, "undecided": 0, "passed": None, "met": True}
        assert rows["missing_required_parameter"].items() >= counts.items()
        assert rows["input_empty"]["passed"] == 0
        assert not rows["input_empty"]["met"]
        text = CliRunner().invoke(app, [str(recording)]).stdout
        assert " over 1 recording with 1 exchange.\n" in text

    def test_a_count_is_kept_of_recordings_only(self) -> None:
        result = CliRunner().invoke(app, ["--keep"])
        assert result.exit_code == 2
        assert "pass their paths" in result.stderr

    def test_recordings_that_hold_nothing_end_with_2(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(app, [str(tmp_path)])
        assert result.exit_code == 2
        assert result.stderr.startswith("responses-harness: nothing was judged")
