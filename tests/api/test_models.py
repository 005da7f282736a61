"""What is known of models: families by name or date, names of no model, families of one's own."""

from __future__ import annotations

from typing import Any

import pytest

import harness
from harness.api.models import MAX_CACHED, MODELS, Model, Models, is_nonexistent_model
from harness.core.exchange import Answer
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.world import World
from tests.support import in_process


@pytest.mark.parametrize(
    ("name", "family"),
    [("gpt-5", "gpt-5"), ("gpt-5-2025-08-07", "gpt-5"), ("o3-deep-research-2025-06-26", "o3-deep-research")],
)
def test_a_family_is_known_by_its_name_and_its_dates(name: str, family: str) -> None:
    assert MODELS.find(name) is MODELS[family]


@pytest.mark.parametrize("name", ["gpt-9", "my-deployment", "ft:gpt-4.1:acme::1", "gpt-5.4-eu", ""])
def test_of_any_other_name_no_ability_is_known(name: str) -> None:
    assert MODELS.find(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "bad model", "gpt-nonexistent-model", "does-not-exist", "this-model-does-not-exist", "gpt-5.3"),
        *("invalid-model-12345", "gemini-1.5-flash", "claude-sonnet-4-5", "llama-3.1-70b", "mistral-large", "grok-4"),
        "qwen2.5-72b",
    ],
)
def test_a_name_the_api_cannot_have_is_none(name: str) -> None:
    assert is_nonexistent_model(name)


@pytest.mark.parametrize(
    "name",
    [
        *("gpt-4.1", "gpt-9", "o7-mini", "ft:gpt-4.1-mini:acme::9aBc", "codex-mini-latest", "chatgpt-4o-latest"),
        *("my-deployment", "test-model", "fake-model", "claudette", "google/gemini-2.5-flash", "prod-llama-router"),
    ],
)
def test_any_other_name_may_exist(name: str) -> None:
    assert not is_nonexistent_model(name)


def test_a_table_never_changes() -> None:
    own = Model("gpt-4.1-mini", "gpt-4.1-mini-mine")
    learned = MODELS.with_family(own)
    assert learned.find("gpt-4.1-mini") is own
    assert len(learned) == len(MODELS)
    assert MODELS.defaults("gpt-4.1-mini").snapshot == "gpt-4.1-mini-2025-04-14"


def test_the_defaults_of_a_name_are_the_same_each_time() -> None:
    models = Models(MODELS.values())
    first = models.defaults("my-deployment")
    assert models.defaults("my-deployment") is first
    for number in range(MAX_CACHED):
        models.defaults(f"my-deployment-{number}")
    assert models.defaults("my-deployment").snapshot == "my-deployment"


def test_a_model_is_added_to_one_world_only() -> None:
    changed, other = Mock(World("changed")), Mock(World("other"))
    changed.add_model(harness.Model("my-deployment", "my-deployment-1", lacks=frozenset({"shell"}), top_p=0.5))
    shell = {"model": "my-deployment", "input": "hi", "tools": [{"type": "shell"}]}
    refused, taken = (send(mock, shell) for mock in (changed, other))
    assert refused.body["error"]["message"] == "Tool 'shell' is not supported with my-deployment."
    assert taken.status == 200
    plain = {"model": "my-deployment", "input": "hi"}
    answers = [send(mock, plain).body for mock in (changed, other)]
    said = [(answer["model"], answer["top_p"]) for answer in answers]
    assert said == [("my-deployment-1", 0.5), ("my-deployment", 1.0)]
    listed = [send(mock, None, "/v1/models").body["data"] for mock in (changed, other)]
    assert ["my-deployment" in [model["id"] for model in models] for models in listed] == [True, False]


def test_the_old_name_of_add_model_stays() -> None:
    assert Mock.learn is Mock.add_model


def send(mock: Mock, body: Any, path: str = "/v1/responses") -> Answer:
    api = MockApi()
    api.worlds["sk-test"] = mock.world
    mock.script(message("ok"))
    return in_process.send(api, f"{'POST' if body else 'GET'} {path}", body, key="sk-test")
