"""The table of models: every fact is known by name, has a source, and is written as the file is written."""

import re
import typing

import orjson
import pytest
from openai.types.shared.all_models import AllModels
from openai.types.shared.chat_model import ChatModel

from harness.api.model_facts import FACTS, MODELS_FILE, load_model_facts, split_source
from harness.api.models import MODELS, is_nonexistent_model
from harness.report.catalogue import describe_model
from tests.support.slow import slow_except_every

FAMILIES = load_model_facts().families
LEVELS = ("recorded", "reported", "documented", "typed", "assumed")


def sdk_names() -> set[str]:
    literals = [arg for arg in typing.get_args(AllModels) if typing.get_origin(arg) is typing.Literal]
    return {name for literal in (ChatModel, *literals) for name in typing.get_args(literal)}


def test_every_model_of_the_sdk_is_in_the_table() -> None:
    unknown = {name for name in sdk_names() if MODELS.find(name) is None and not is_nonexistent_model(name)}
    assert not unknown
    assert len(sdk_names()) >= 60


def test_every_model_of_the_sdk_has_facts_or_is_listed_without() -> None:
    families = {family.name for name in sdk_names() if (family := MODELS.find(name))}
    silent = {name for name in families if "Nothing else is known of it" not in describe_model(name)}
    assert silent == {name for name in families if len(FAMILIES[name]) > 1}
    assert {"gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-luna"} <= silent


@pytest.mark.parametrize("family", slow_except_every(4, FAMILIES))
def test_each_fact_has_a_known_name_and_sources(family: str) -> None:
    for name, fact in FAMILIES[family].items():
        assert name in FACTS, name
        assert fact.sources, name
        assert {split_source(source)[0] for source in fact.sources} <= set(LEVELS), name


def test_no_name_belongs_to_two_families() -> None:
    names = [name for facts in FAMILIES.values() for name in facts["names"].value]
    assert len(names) == len(set(names))
    assert all(family in facts["names"].value for family, facts in FAMILIES.items())


def test_the_file_has_a_fact_a_line() -> None:
    text = MODELS_FILE.read_text(encoding="utf-8")
    facts = re.findall(r'^      "([^"]+)": (\[.*\]),?$', text, re.MULTILINE)
    assert len(facts) == sum(map(len, FAMILIES.values()))
    assert all(isinstance(orjson.loads(value), list) for _, value in facts)


def test_a_default_is_among_the_values() -> None:
    for default, values in (("effort", "efforts"), ("mode", "modes"), ("context", "contexts")):
        for family, facts in FAMILIES.items():
            if default in facts and values in facts:
                assert facts[default].value in facts[values].value, family


def test_a_family_of_which_only_the_name_is_known_takes_everything() -> None:
    family = MODELS["gpt-6-cyber"]
    assert family.name_only
    assert family.reasons is None
    assert MODELS.defaults("gpt-6-cyber").turns is not None, "its answers have the defaults of the nearest family"


def test_an_alias_has_the_facts_of_its_family_and_its_own_name() -> None:
    assert MODELS.find("gpt-4o-2024-05-13") is MODELS["gpt-4o"]
    assert MODELS.defaults("gpt-4o-2024-05-13").snapshot == "gpt-4o-2024-05-13"
