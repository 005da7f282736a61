"""What the table of models grants is taken. What it denies is refused by the rules that read it, as their examples show."""

from datetime import date, timedelta
from typing import Any

import pytest

from harness.api.models import MODELS, Model, Models
from harness.contract.call import WorldCall
from harness.contract.check import Violation, check
from harness.contract.rule import RULES
from harness.core.dates import CONTRACT_DATE
from harness.world.world import World, WorldOptions
from tests.contract.evidence.switched_off import READ_THE_TABLE
from tests.support.rule_examples import request_for


def judge(body: dict[str, Any], family: Model, as_of: str) -> Violation | None:
    """Return what a World of a day says to a request for a family, with what each of its requests needs."""
    tools = {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]} if family.needs_tools else {}
    truncation = {"truncation": family.truncations[0]} if family.truncations else {}
    asked = request_for({"model": family.name, **tools, **truncation}, body)
    return check(WorldCall(asked, World(options=WorldOptions(as_of=as_of)))).violation


def day_before(day: str) -> str:
    return (date.fromisoformat(day) - timedelta(days=1)).isoformat()


SERVED = [family for family in MODELS.values() if family.served and family.found]
GONE = [family for family in MODELS.values() if family.gone]


@pytest.mark.parametrize("family", SERVED, ids=lambda family: family.name)
def test_abilities_in_the_table_are_accepted(family: Model) -> None:
    last = day_before(end) if (end := family.gone or family.removed) else CONTRACT_DATE
    for member, values in (
        ("effort", family.efforts),
        ("mode", family.modes),
        ("context", family.contexts),
        ("summary", ("auto", *family.summary_values) if family.summaries else ()),
    ):
        for value in values:
            assert judge({"reasoning": {member: value}}, family, last) is None, (member, value)
    for value in family.verbosities:
        assert judge({"text": {"verbosity": value}}, family, last) is None, value


@pytest.mark.parametrize("family", GONE, ids=lambda family: family.name)
def test_a_model_is_there_until_the_day_it_is_gone(family: Model) -> None:
    gone = judge({}, family, CONTRACT_DATE)
    assert (gone.error.status, gone.error.message, gone.error.code) == (404, f"Model not found {family.name}", None)
    assert judge({}, family, day_before(family.gone)) is None


DENIED = [case for rule in READ_THE_TABLE for case in RULES[rule].rejects.values() if not (case.before or case.on)]


def test_an_unlisted_model_takes_everything() -> None:
    assert len(DENIED) > 20
    for case in DENIED:
        world = World(options=WorldOptions(as_of=case.as_of or CONTRACT_DATE))
        world.models = Models(())
        assert check(WorldCall(request_for(case.body), world)).violation is None, case


_SAMPLING = "Unsupported parameter: '{}' is not supported with this model."
_LISTED = "Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'."


@pytest.mark.parametrize("model", ["gpt-6.2-sol", "gpt-6.2-astra"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"temperature": 0}, _SAMPLING.format("temperature")),
        ({"top_p": 0.5}, _SAMPLING.format("top_p")),
        ({"top_logprobs": 1}, "logprobs are not supported with reasoning models."),
        ({"include": ["message.output_text.logprobs"]}, "logprobs are not supported with reasoning models."),
        ({"reasoning": {"effort": "none"}}, "Unsupported value: 'none' is not supported with the '{model}' model. "),
        (
            {"reasoning": {"effort": "minimal"}},
            "Unsupported value: 'minimal' is not supported with the '{model}' model. ",
        ),
        ({"service_tier": "flex"}, "Flex is not available for this model."),
    ],
)
def test_the_newest_family_refuses_what_it_lacks(body: dict[str, Any], message: str, model: str) -> None:
    violation = judge(body, MODELS[model], CONTRACT_DATE)
    listed = _LISTED if "{model}" in message else ""
    assert violation is not None
    assert violation.error.message == message.format(model=model) + listed


@pytest.mark.parametrize("model", ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"])
def test_a_family_that_may_not_reason_takes_sampling_parameters_then(model: str) -> None:
    assert judge({"temperature": 0.2, "reasoning": {"effort": "none"}}, MODELS[model], CONTRACT_DATE) is None
    assert judge({"temperature": 0.2}, MODELS[model], CONTRACT_DATE) is not None
