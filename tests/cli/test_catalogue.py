"""`responses-harness rules`, `losses`, `models` and `manual`: what there is, found by words, and explained one by one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from harness.analysis.loss import LOSSES
from harness.api.model_facts import FACTS, load_model_facts
from harness.api.models import MODELS
from harness.cli.catalogue import RulesOptions, rules
from harness.contract.rule import LEVELS, RULES
from harness.core.errors import Section
from harness.report.catalogue import coverage_rows, open_facts
from tests.support.command_line import run_cli
from tests.support.slow import slow_except_every


def test_rules_are_listed_in_order_of_precedence() -> None:
    result = run_cli("rules")
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["id", "area", "level", "summary"]
    assert [line.split()[0] for line in lines] == list(RULES)


@pytest.mark.slow
def test_the_examples_are_exported_as_data(tmp_path: Path) -> None:
    result = run_cli("rules", "--export", str(tmp_path / "contract"))
    assert result.exit_code == 0
    assert "run_contract.py URL` asks a server." in result.stdout
    written = {file.name for file in (tmp_path / "contract").iterdir()}
    assert written == {"contract.json", "contract.schema.json", "run_contract.py", "run_contract.mjs"}


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (file := tmp_path / "contract").write_text("")
    result = run_cli("rules", "--export", str(file))
    assert result.exit_code == 2
    assert "Pass another folder to --export" in result.output


def test_an_area_alone() -> None:
    listed = json.loads(run_cli("rules", "--area", "pairing", "--json").stdout)
    assert [rule["id"] for rule in listed] == [rule.id for rule in RULES.values() if rule.area == "pairing"]


def test_assumptions_alone() -> None:
    listed = json.loads(run_cli("rules", "--assumed", "--json").stdout)
    assert {"item_id_prefix", "invalid_value"} <= {rule["id"] for rule in listed} < {*RULES}
    assert "auth_missing" not in {rule["id"] for rule in listed}


def test_a_rule_is_explained() -> None:
    rule = RULES["assistant_content"]
    said = run_cli("rules", "assistant_content").stdout
    assert said.startswith("assistant_content  (content, ")
    for part in (rule.doc, rule.error.message, rule.fix, *rule.rejects, *(source.where for source in rule.sources)):
        assert part in said
    assert '{"input": [{"role": "assistant", "content": [{"type": "input_file"}]}, ' in said


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["Duplicate", "item", "found"], "duplicate_item"),  # the API's words
        (["duplicate item found with id"], "duplicate_item"),  # a phrase
        (["ASSISTANT", "input_file"], "assistant_content"),  # its text, its refusals
    ],
)
def test_words_find_the_rules_that_have_all_of_them(words: list[str], found: str) -> None:
    listed = [rule["id"] for rule in json.loads(run_cli("rules", *words, "--json").stdout)]
    assert any(found in id for id in listed)
    assert len(listed) < 15
    assert run_cli("rules", *words).stdout.startswith("id ")


def test_words_find_by_source_and_by_fix_within_an_area() -> None:
    rule = next(rule for rule in RULES.values() if rule.fix and rule.sources[0].where)
    for words in ([rule.sources[0].where], [rule.fix, rule.id]):
        listed = json.loads(run_cli("rules", *words, "--json", "--area", rule.area).stdout)
        assert rule.id in [entry["id"] for entry in listed]
        assert {entry["area"] for entry in listed} == {rule.area}


@pytest.mark.parametrize("name", slow_except_every(10, list(RULES)))
def test_every_rule_can_be_explained_to_people_and_programs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules(RulesOptions(words=[name]))
    assert capsys.readouterr().out.startswith(f"{name}  (")
    rules(RulesOptions(words=[name], as_json=True))
    explained = json.loads(capsys.readouterr().out)
    assert (explained["id"], explained["error"]["message"]) == (name, RULES[name].error.message)
    assert [case["message"] for case in explained["rejects"]] == list(RULES[name].rejects)
    assert len(explained["accepts"]) == len(RULES[name].accepts)


def test_an_example_shows_all_that_makes_it_special() -> None:
    def first(name: str) -> Any:
        return json.loads(run_cli("rules", name, "--json").stdout)["rejects"][0]["request"]

    assert first("auth_missing") == {"body": {}, "headers": {}}
    assert first("auth_missing_scope") == {"given": {"scopes": []}}
    assert first("body_unicode")["raw"].isascii()
    assert first("rate_limit")["given"]["rate_limit"]["limit"] > 0
    told = first("reasoning_without_follower")
    assert told["before"] == [{"input": "hi"}]
    assert told["turns"][0][0]["type"] == "reasoning"


def test_a_rule_without_examples_or_advice_says_so() -> None:
    said = run_cli("rules", "auth_missing").stdout
    assert "Accepted\n  no example\n" in said


def test_losses_are_listed_in_order() -> None:
    assert [row["id"] for row in json.loads(run_cli("losses", "--json").stdout)] == list(LOSSES)


def test_a_loss_is_explained_to_people_and_programs() -> None:
    loss = LOSSES["text-altered"]
    said = run_cli("losses", "text-altered").stdout
    assert said.startswith(f"text-altered  ({loss.area}, always)")
    assert json.loads(run_cli("losses", "text-altered", "--json").stdout)["id"] == "text-altered"


def test_the_page_of_a_model_says_what_is_open() -> None:
    result = run_cli("models", "gpt-5.5-pro-2026-04-23", "--json")
    page = json.loads(result.stdout)
    assert page["family"] == "gpt-5.5-pro"
    assert page["facts"]["efforts"]["value"] == ["medium", "high", "xhigh"]
    assert page["facts"]["efforts"]["sources"][0]["level"] == "recorded"
    assert "tool.shell" in page["open"]
    assert not set(page["open"]) & set(page["facts"])


def test_every_family_is_listed() -> None:
    assert [row["family"] for row in json.loads(run_cli("models", "--json").stdout)] == list(MODELS)


def test_the_coverage_has_a_row_for_each_fact_with_its_recordings() -> None:
    rows = {row["fact"]: row for row in coverage_rows({"efforts": (4, 3), "names": (0, 0)})}
    assert list(rows) == list(FACTS)
    assert (rows["efforts"]["seen"], rows["efforts"]["right"]) == ("4", "3")
    assert (rows["names"]["right"], rows["modes"]["right"]) == ("never met", "never met")
    assert "seen" not in coverage_rows()[0]
    for row in rows.values():
        assert int(row["known"]) == sum(int(row[level] or 0) for level in LEVELS)


def test_the_coverage_ends_with_its_totals() -> None:
    rows = json.loads(run_cli("models", "--coverage", "--json").stdout)
    known, still_open = (sum(int(row[name] or 0) for row in rows) for name in ("known", "open"))
    last = run_cli("models", "--coverage").stdout.splitlines()[-1]
    assert last == f"{known} facts are known, {still_open} are open."


def test_nothing_is_open_of_a_model_that_the_api_does_not_serve_or_has_dropped_unseen() -> None:
    fact = next(iter(load_model_facts().families["gpt-4.1"].values()))
    assert open_facts({"served": fact}) == open_facts({"gone": fact}) == []
    reasons = load_model_facts().families["gpt-5"]["reasons"]
    assert "efforts" in open_facts({"gone": fact, "reasons": reasons})
    assert "efforts" not in open_facts({"reasons": replace(reasons, value=False)})


def test_the_page_of_a_model_has_its_prices_by_day_with_their_sources() -> None:
    printed = run_cli("models", "gpt-5.6-sol").stdout
    assert "Dollars per million tokens: input, cached, written to the cache, output" in printed
    assert "  reasons                         yes  (recorded " in printed
    assert "gpt-5.6-sol from 2026-08-21  4, 0.4, 5, 20  (reported genai-prices 0.2.3; " in printed


def test_the_sections_of_the_manual_are_listed() -> None:
    assert run_cli("manual").stdout.split() == [*get_args(Section)]


def test_a_section_is_shown_with_causes_and_fixes() -> None:
    told = run_cli("manual", "turns-are-left").stdout
    assert told.startswith(
        "Turns are left\n\n`No request asked for … of … exchanges in …`\n  cause    The client stopped"
    )
