"""What recordings say of the table of models: which facts they meet, and whether it was right."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.api.models import MODELS
from harness.core.dates import CONTRACT_DATE
from tests.support.command_line import run_cli
from tests.support.recordings import error, exchange, write_jsonl
from tools import model_facts_met
from tools.model_facts_met import asked_facts, count_met_facts, shown_facts

TOOLS = [{"type": "web_search_preview_2025_03_11", "filters": {"allowed_domains": ["example.com"]}}, {"type": "shell"}]


def write_recording(path: Path, model: str, status: int, **body: Any) -> Path:
    answer = error("nothing that the mock says") if status >= 400 else None
    one = exchange(0, {"model": model, "input": "hi", **body}, status, answer, recorded_at="2026-08-03")
    return write_jsonl(path.parent, [one], path.name)


@pytest.mark.parametrize(
    ("status", "body", "met"),
    [
        (200, {"reasoning": {"effort": "low"}}, {"efforts": (1, 1), "names": (1, 1)}),
        (200, {"reasoning": {"effort": "minimal"}}, {"efforts": (1, 0)}),
        (400, {"text": {"verbosity": "low"}}, {"verbosities": (1, 0)}),
    ],
    ids=["the mock accepts it", "the mock refuses it", "a refusal in other words"],
)
def test_a_fact_was_right_where_the_mock_does_as_recorded_and_else_wrong(tmp_path: Path, status, body, met) -> None:
    counted = count_met_facts([write_recording(tmp_path / "a.jsonl", "gpt-5.4", status, **body)])
    assert {fact: counted[fact] for fact in met} == met


def test_nothing_is_counted_for_an_unlisted_model(tmp_path: Path) -> None:
    assert not count_met_facts([write_recording(tmp_path / "a.jsonl", "my-model", 200, reasoning={"effort": "low"})])


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ({}, set()),
        ({"reasoning": {"effort": "low", "summary": "auto", "mode": None}}, {"efforts", "summaries"}),
        ({"top_p": 0.5, "top_logprobs": 1}, {"temperature", "logprobs"}),
        ({"tools": TOOLS}, {"tool.web_search_preview", "tool.shell", "web_search.filters"}),
        ({"text": {"format": {"type": "json_schema"}, "verbosity": "low"}}, {"json_schema", "verbosities"}),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}, {"type": "input_text"}]}]}, {"input.image"}),
        ({"background": True, "truncation": "auto"}, {"background", "truncation"}),
        ({"background": False, "truncation": "disabled"}, set()),
    ],
)
def test_a_request_asks_of_its_model_what_it_uses(body: dict[str, Any], facts: set[str]) -> None:
    assert set(asked_facts(body)) == {"names", *facts}


def test_an_answer_shows_the_defaults_that_the_request_left_open() -> None:
    answer = {"model": "gpt-5.4-2026-03-05", "top_p": 1.0, "reasoning": {"effort": "none", "mode": None}}
    shown = dict(shown_facts({"reasoning": {}}, answer, MODELS["gpt-5.4"], CONTRACT_DATE))
    assert shown == {"snapshot": True, "top_p": False, "effort": True}


def test_the_coverage_says_what_was_met(tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "a.jsonl", "gpt-5.4", 200, reasoning={"effort": "low"})
    result = CliRunner().invoke(model_facts_met.app, [str(recording), "--json"])
    rows = {row["fact"]: row for row in json.loads(result.stdout)}
    assert (rows["efforts"]["seen"], rows["efforts"]["right"]) == ("1", "1")
    assert rows["modes"]["right"] == "never met"


def test_verify_names_a_model_that_is_not_in_the_table_once(tmp_path: Path) -> None:
    for number, model in enumerate(("our-model", "our-model", "gpt-5.4", "ft:gpt-4.1:acme::1")):
        write_recording(tmp_path / f"{number}.jsonl", model, 200)
    result = run_cli("verify", tmp_path)
    said = "models  their capabilities are unknown, so nothing was refused because of them: our-model\n"
    assert said in result.output
