"""`responses-harness models`: the families of models, and what is known of one."""

import json
from dataclasses import replace

from harness.api.model_facts import FACTS, load_model_facts
from harness.api.models import MODELS
from harness.report.catalogue import LEVELS, coverage_rows, open_facts
from tests.support.command_line import run_cli


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


def test_nothing_is_open_of_a_model_that_the_api_does_not_serve_or_has_dropped_unseen() -> None:
    fact = next(iter(load_model_facts().families["gpt-4.1"].values()))
    assert open_facts({"served": fact}) == open_facts({"gone": fact}) == []
    reasons = load_model_facts().families["gpt-5"]["reasons"]
    assert "efforts" in open_facts({"gone": fact, "reasons": reasons})
    assert "efforts" not in open_facts({"reasons": replace(reasons, value=False)})


def test_the_page_of_a_model_has_its_prices_by_day_with_their_sources() -> None:
    printed = run_cli("models", "gpt-5.6-sol").stdout
    assert "Dollars per million tokens: input, cached, written to the cache, output" in printed
    assert "gpt-5.6-sol from 2026-08-21  4, 0.4, 5, 20  (reported genai-prices 0.2.3; " in printed
