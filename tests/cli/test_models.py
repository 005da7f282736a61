"""`responses-harness models`: the families of models, and what is known of one."""

from __future__ import annotations

import json

from harness.api.models import MODELS
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
