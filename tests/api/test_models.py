"""What is known of models: families by name or date, names that are none, families of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.api.models import MODELS, Model, find_model, is_nonexistent_model, learn, model_defaults
from harness.contract.rule import Case
from harness.verify.examples import play_case


@pytest.mark.parametrize(
    ("name", "family"),
    [("gpt-5", "gpt-5"), ("gpt-5-2025-08-07", "gpt-5"), ("o3-deep-research-2025-06-26", "o3-deep-research")],
)
def test_a_family_is_known_by_its_name_and_its_dates(name: str, family: str) -> None:
    assert find_model(name) is MODELS[family]


@pytest.mark.parametrize("name", ["gpt-9", "my-deployment", "ft:gpt-4.1:acme::1", "gpt-5-pro", ""])
def test_of_any_other_name_no_ability_is_known(name: str) -> None:
    assert find_model(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "bad model",
            "gpt-nonexistent-model",
            "does-not-exist",
            "this-model-does-not-exist",
            "invalid-model-12345",
        ),
        *(
            "gpt-5.3",
            "gemini-1.5-flash",
            "claude-sonnet-4-5",
            "llama-3.1-70b",
            "mistral-large",
            "grok-4",
            "qwen2.5-72b",
        ),
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


@pytest.fixture
def forgotten() -> Iterator[None]:
    before = dict(MODELS)
    yield
    MODELS.clear()
    MODELS.update(before)
    find_model.cache_clear()
    model_defaults.cache_clear()


def test_a_family_of_ones_own_is_held_to_what_is_said_of_it(forgotten: None) -> None:
    case = Case({"model": "my-deployment", "tools": [{"type": "shell"}]})
    assert play_case(case).answer.status == 200
    learn(Model("my-deployment", "my-deployment-1", lacks=frozenset({"shell"}), top_p=0.5))
    assert play_case(case).answer.body["error"]["message"] == "Tool 'shell' is not supported with my-deployment."
    answer = play_case(Case({"model": "my-deployment"})).answer.body
    assert (answer["model"], answer["top_p"]) == ("my-deployment-1", 0.5)
