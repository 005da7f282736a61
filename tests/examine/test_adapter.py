"""What an adapter declares decides which cases apply to it, in which modes."""

import json
import re

import pytest

from harness.core.errors import Malformed
from harness.examine.adapter import Declaration, Mode, modes_of, parse_modes
from harness.examine.case import CASES
from harness.examine.run_cases import select_cases


def declared(**members):
    body = {"client": "mine 1.0", "features": ["guardrails"], "states": ["replay", "conversation"], **members}
    return Declaration.from_json(body)


def states_of(case, declaration):
    select_cases()
    return {mode.state for mode in modes_of(CASES[case], declaration)}


def test_a_feature_may_be_had_in_some_states_alone():
    narrowed = declared(states_of={"guardrails": ["replay"]})
    assert states_of("agents/guardrail", narrowed) == {"replay"}
    assert states_of("answers/text", narrowed) == {"replay", "conversation"}


def test_a_feature_applies_to_all_states_by_default():
    assert states_of("agents/guardrail", declared()) == {"replay", "conversation"}


def test_a_state_that_the_client_does_not_have_is_none_of_a_feature():
    assert states_of("agents/guardrail", declared(states_of={"guardrails": ["chain"]})) == set()


def test_what_is_declared_is_read_back():
    narrowed = declared(states_of={"guardrails": ["replay"]})
    assert Declaration.from_json(json.loads(json.dumps(narrowed.as_json()))) == narrowed


@pytest.mark.parametrize(
    ("states_of", "says"),
    [
        (["guardrails"], 'declaration.states_of must be an object: {"guardrails": ["replay"]}'),
        ({"guardrail": ["replay"]}, "declaration.states_of: 'guardrail' is unknown. Did you mean 'guardrails'?"),
        ({"guardrails": "replay"}, "declaration.states_of.guardrails must be a list"),
        ({"guardrails": ["replays"]}, "declaration.states_of.guardrails: 'replays' is unknown. Did you mean 'replay'?"),
    ],
)
def test_states_that_are_declared_wrongly(states_of, says):
    with pytest.raises(Malformed, match=re.escape(says)):
        declared(states_of=states_of)


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        ((), "plain,chain stream,chain stream,replay stream,replay,azure"),
        (("stream",), "stream,chain stream,replay stream,replay,azure"),
        (("stream,replay",), "stream,replay"),
        (("stream,replay,azure",), "stream,replay,azure"),
        (("azure", "plain"), "plain,chain stream,replay,azure"),
        (("openai",), "plain,chain stream,chain stream,replay"),
    ],
)
def test_modes_are_chosen_by_their_words(texts: tuple[str, ...], meant: str) -> None:
    modes = [Mode(False, "chain"), Mode(True, "chain"), Mode(True, "replay"), Mode(True, "replay", "azure")]
    assert " ".join(map(str, filter(parse_modes(texts), modes))) == meant
