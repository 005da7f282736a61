"""`responses-harness rules`: which there are, found by words, and explained one by one."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.rules import rules
from harness.contract.rule import RULES
from tests.support.command_line import run_cli
from tests.support.slow import slow_except_every


def test_all_are_listed_in_order_of_precedence() -> None:
    result = run_cli("rules")
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["id", "area", "level", "summary"]
    assert [line.split()[0] for line in lines] == list(RULES)


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
    assert {rule["level"] for rule in listed} == {"assumed"}
    assert len(listed) < len(RULES)


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
    rules([name], area="", as_json=False, assumed=False)
    assert capsys.readouterr().out.startswith(f"{name}  (")
    rules([name], area="", as_json=True, assumed=False)
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
    said = run_cli("rules", "string_below_min_length").stdout
    assert "Accepted\n  no example\n" in said
