"""Nothing in the tables is idle: a rule, an entry or a value that is switched off makes its recordings go wrong."""

import pytest

from harness.contract.rule import RULES
from tests.contract.evidence.switched_off import (
    READ_THE_TABLE,
    Hanging,
    all_entries,
    find_hanging,
    refuses_without,
    texts_of,
    used_values,
    without_rule,
)
from tests.support.shared import PRESENT, RECORDINGS
from tools.rule_evidence.cassettes import CASSETTES

PLACES = (
    *("include[]", "truncation", "service_tier", "prompt_cache_retention", "context_management[].type"),
    *("reasoning.effort", "reasoning.summary", "reasoning.context", "text.verbosity", "text.format.type"),
    *("tool_choice", "tool_choice.type", "tool_choice.mode", "tool_choice.tools[].type", "tools[].type"),
    *("tools[].tools[].type", "tools[].search_context_size", "tools[].execution", "tools[].filters.type"),
    *("tools[].container.type", "tools[].environment.type", "tools[].environment", "tools[].user_location.type"),
    *("tools[].format.type", "tools[].format.syntax", "tools[].require_approval", "tools[].action"),
    *("tools[].quality", "tools[].background", "tools[].output_format", "tools[].moderation", "tools[].input_fidelity"),
    *("input[].type", "input[].role", "input[].status", "input[].phase", "input[].execution", "input[].action.type"),
    *("input[].content[].type", "input[].content[].detail", "input[].output[].type", "input[].output.type"),
    *("input[].tools[].type", "input[].summary[].type", "input[].caller.type", "input[].outputs[].type"),
)
"""Places of a request at which the schema lists what the API takes: kinds of items, tools and parts, and other values."""
NAMED_PLACES = (
    *("assistant_content", "content_part_type", "input_item_role"),
    *("tool_output_content", "user_content", "web_search_action"),
)
"""Rules that a schema names at its places, with a fix of their own, in the very words of `invalid_value`."""


def test_a_rule_that_is_switched_off_comes_back_in_its_place() -> None:
    before = list(RULES)
    with without_rule("unknown_parameter"):
        assert "unknown_parameter" not in RULES
    assert list(RULES) == before


def test_the_values_of_a_request_are_found_by_their_places() -> None:
    body = {"include": ["a.b"], "tools": [{"type": "shell"}], "input": "Not a name"}
    assert set(texts_of(body)) == {("include[]", "a.b"), ("tools[].type", "shell")}
    assert set(used_values({"reasoning": {"effort": "low"}, "text": {"verbosity": None}})) == {"efforts=low"}


def test_a_value_that_is_switched_off_is_refused() -> None:
    body = {"model": "gpt-4.1", "input": "hi", "truncation": "auto"}
    assert refuses_without("auto", [(0, "2026-08-03", body)])
    assert not refuses_without("disabled", [(0, "2026-08-03", body)])


@pytest.fixture(scope="module")
def found() -> Hanging:
    return find_hanging((CASSETTES, *RECORDINGS))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")
class TestRecordings:
    def test_no_rule_is_covered_by_another(self, found: Hanging) -> None:
        covered = {rule: set(others.values()) for rule, others in found.covered.items()}
        assert covered == {rule: {"invalid_value"} for rule in NAMED_PLACES}
        assert sum(1 for times in found.tried.values() if times) > 80

    def test_every_refusal_about_a_model_hangs_on_an_entry(self, found: Hanging) -> None:
        assert {id: rule for id, rule in found.free.items() if rule in READ_THE_TABLE} == {}

    def test_every_value_that_a_model_took_has_to_be_in_the_table(self, found: Hanging) -> None:
        assert found.used - found.decisive == set()
        assert len(found.used) > 70

    def test_every_value_that_the_api_took_has_to_be_in_the_schema(self, found: Hanging) -> None:
        listed = {key: bodies for key, bodies in found.bodies.items() if key[0] in PLACES}
        assert [key for key, bodies in listed.items() if not refuses_without(key[1], bodies)] == []
        assert len(listed) > 110

    def test_the_entries_on_which_no_recording_hangs_are_counted(
        self, found: Hanging, capsys: pytest.CaptureFixture[str]
    ) -> None:
        idle = all_entries() - found.decisive
        with capsys.disabled():
            print(f"\ntable of models: {len(found.decisive)} entries decide a recording, {len(idle)} do not:")
            for family in sorted({name for name, _ in idle}):
                print(f"  {family}: {', '.join(sorted(label for name, label in idle if name == family))}")
        assert len(found.decisive) > 300
