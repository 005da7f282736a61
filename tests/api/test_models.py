"""What is known of models: families by name or date, names of no model, families of one's own."""

from typing import Any

import pytest

import harness
from harness.api.model_facts import load_model_facts
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
def test_a_model_of_any_other_name_has_no_known_abilities(name: str) -> None:
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
    assert refused.body["error"]["message"] == "Tool 'shell' is not supported with my-deployment-1."
    assert taken.status == 200
    plain = {"model": "my-deployment", "input": "hi"}
    answers = [send(mock, plain).body for mock in (changed, other)]
    said = [(answer["model"], answer["top_p"]) for answer in answers]
    assert said == [("my-deployment-1", 0.5), ("my-deployment", 1.0)]
    listed = [send(mock, None, "/v1/models").body["data"] for mock in (changed, other)]
    assert ["my-deployment" in [model["id"] for model in models] for models in listed] == [True, False]


def send(mock: Mock, body: Any, path: str = "/v1/responses") -> Answer:
    api = MockApi()
    api.worlds["sk-test"] = mock.world
    mock.script(message("ok"))
    return in_process.send(api, f"{'POST' if body else 'GET'} {path}", body, key="sk-test")


SLIPS = {
    "gtp-4.1": "gpt-4.1",
    "gpt-4.1-mni": "gpt-4.1-mini",
    "gpt-4.1-miini": "gpt-4.1-mini",
    "gpt-4.1-minj": "gpt-4.1-mini",
    "gpt-5-codx": "gpt-5-codex",
    "gpt-5.6-tera": "gpt-5.6-terra",
    "gpt-5-por": "gpt-5-pro",
    "gp-4o": "gpt-4o",
    "gppt-4o": "gpt-4o",
    "gpr-5": "gpt-5",
    "o3-mnii": "o3-mini",
    "ggpt-4.1-nano": "gpt-4.1-nano",
    "gpt-4o-mimi-2024-07-18": "gpt-4o-mini-2024-07-18",
    "gpt-4.1-nanno-2099-01-01": "gpt-4.1-nano",
    "computer-use-preveiw": "computer-use-preview",
}
OWN_NAMES = """
gpt-5-code gpt-5.1-code gpt-6-lunar gpt-6-astral
gpt-5.9 gpt-6.3-sol gpt-7 gpt-7-mini gpt-4.2 gpt-5o gpt-4v gpt-4p o2 o5-mini o7 o9-pro gpt-5-prod gpt-5-pre gpt-4-prod
gpt-4o-prod gpt-5-pros gpt-5-mini-prod o1-review gpt-4-turbo-review xgpt-4o my-gpt-4o my-gpt-4.1 GPT-4.1 Gpt-4.1
GPT-4o gpt4 gpt4o gpt4all gpt-oss-20b gpt-oss-120b gpt-oss:20b openai/gpt-4.1 openai/gtp-4.1 azure/gpt-4o gpt-j
gpt-neo gpt-neox-20b gpt2 gpt-2 mpt-7b opt-6.7b ft:gtp-4.1:acme::9aBc ft:gpt-4.1-mini:acme::9aBc gpt-realtime
gpt-realtime-mini gpt-4o-realtime-preview gpt-4o-tts gpt-5-codex-mini gpt-5.3-codex-mini gpt-4.1-micro gpt-4o-large
gpt-5-thinking gpt-5-search gpt-5-max gpt-5.1-high grok-4 grok-4-fast grok-code-fast-1 llama3 llama3.1:8b
llama-3.3-70b-versatile meta-llama/Llama-3.1-8B-Instruct mistral-large-latest mistral-small mixtral-8x7b
codestral-latest ministral-8b magistral-medium devstral pixtral-12b qwen3 qwen3:4b qwen3-coder-plus
qwen2.5-72b-instruct Qwen/Qwen3-32B qwq-32b deepseek-chat deepseek-reasoner deepseek-r1 deepseek-ai/DeepSeek-V3
claude-sonnet-4-5 claude-opus-4-1 claude-3-5-haiku-latest anthropic/claude-sonnet-4-5 claude-local gemini-2.5-pro
gemini-2.5-flash gemini-3-pro-preview google/gemini-2.5-pro gemma-3-27b gemma3:4b command-r-plus command-a phi-4
phi-4-mini phi-4-mini-instruct nova-pro nova-lite amazon.nova-pro-v1:0 titan-text kimi-k2 moonshotai/kimi-k2 glm-4.6
glm-4 glm-4o minimax-m2 yi-large solar-pro jamba-large sonar sonar-pro granite-3 hermes-4 nous-hermes falcon-40b dbrx
starcoder2 orca-mini vicuna wizardlm o1 test test-model fake fake-model mock-model dummy model any-name default local
local-model my-model my-deployment chat gpt prod-gpt staging-gpt-4o reasoning-small embed-text smart cheap router auto
"""


@pytest.mark.parametrize(("name", "meant"), SLIPS.items())
def test_a_slip_leads_to_the_model_that_was_meant(name: str, meant: str) -> None:
    assert MODELS.find_meant(name) == meant


def test_a_name_of_its_own_is_no_slip() -> None:
    assert len(OWN_NAMES.split()) > 140
    assert [name for name in OWN_NAMES.split() if MODELS.find_meant(name)] == []


def test_no_name_of_the_table_is_a_slip_of_another() -> None:
    for family, facts in load_model_facts().families.items():
        for name in (family, *facts["names"].value, str(facts["snapshot"].value) if "snapshot" in facts else family):
            assert MODELS.find_meant(name) is None, name
            assert MODELS.find_meant(f"{name}-2031-01-01") is None, name


def test_every_name_of_a_served_model_finds_its_swapped_letters() -> None:
    for family in MODELS.values():
        if family.served and family.found and family.name.startswith("gpt-"):
            swapped = f"gtp-{family.name[4:]}"
            assert MODELS.find_meant(swapped) == family.name, swapped


def test_a_table_that_has_the_name_has_no_slip() -> None:
    assert MODELS.with_family(Model("gtp-4.1", "gtp-4.1")).find_meant("gtp-4.1") is None
    assert MODELS.with_family(Model("acme-large", "acme-large")).find_meant("acme-lagre") == "acme-large"
