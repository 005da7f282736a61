"""How far what was learned goes: as far as the recordings justify, pairs of models and values, types of items, efforts."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.learning import Learn, refused, taken, verdict

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
MESSAGE = {"type": "message", "role": "user", "content": "hi"}


class TestPairsOfModelAndValue:
    """The mock refuses `minimal` for both models, and `none` for o3."""

    @pytest.fixture(autouse=True)
    def two_models(self, learn: Learn) -> None:
        learn(taken(model="gpt-5.4", reasoning={"effort": "minimal"}), taken(model="o3", reasoning={"effort": "none"}))

    def test_recorded_pairs_of_model_and_value_are_derived_and_others_refused(self) -> None:
        said = {
            (model, effort): verdict(model=model, reasoning={"effort": effort}).partition(":")[0]
            for model in ("gpt-5.4", "o3", "o4-mini")
            for effort in ("minimal", "none")
        }
        taken = {("gpt-5.4", "minimal"), ("gpt-5.4", "none"), ("o3", "none")}
        assert said == {pair: "" if pair in taken else "Unsupported value" for pair in said}


COLOURED = {"colour": "red"}
TWO = taken(input=[{**CALL, **COLOURED}, {**OUTPUT, **COLOURED}])
THIRD = taken(input=[{**SEARCH, **COLOURED}])
UNKNOWN = "Unknown parameter: 'input[0].colour'."
REFUSED = refused(UNKNOWN, "input[0].colour", "unknown_parameter", input=[{**MESSAGE, **COLOURED}])


class TestTypesOfItems:
    @pytest.mark.parametrize(
        ("seen", "item", "said"),
        [
            ([TWO], {**MESSAGE, "colour": "blue"}, UNKNOWN),
            ([TWO, THIRD], {**MESSAGE, "colour": "blue"}, ""),
            ([TWO, THIRD], {**MESSAGE, "colour": 1}, UNKNOWN),
            ([TWO, taken(input=[{**SEARCH, "colour": 1}])], {**MESSAGE, "colour": "blue"}, UNKNOWN),
            ([TWO, THIRD, REFUSED], {**MESSAGE, "colour": "blue"}, UNKNOWN),
            ([TWO, THIRD, REFUSED], {**SEARCH, "colour": "blue"}, ""),
        ],
        ids=[
            "two are two",
            "three are all",
            "of that kind of value",
            "of one kind of value",
            "not the one that was refused",
            "but the others",
        ],
    )
    def test_recorded_types_of_items_are_derived(self, learn, seen, item, said):
        learn(*seen)
        assert verdict(input=[item]) == said


def test_a_refusal_for_a_model_is_for_the_efforts_that_were_recorded(learn: Learn) -> None:
    words = "Unsupported value: 'auto' is not supported with this model."
    efforts = ({}, {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}})
    asked = [{"model": "gpt-5.4", "truncation": "auto", **effort} for effort in efforts]
    for body in asked:
        learn(refused(words, "truncation", "unsupported_value", **body))
        assert [verdict(**other) for other in asked] == [words if other == body else "" for other in asked]


def test_a_refusal_for_what_a_text_holds_is_no_refusal_of_texts(learn: Learn) -> None:
    printed = learn(refused("Bad words.", "instructions", "bad_words", instructions="Words, words, words."))
    assert "1 exchange: 1 disagree with the mock, 1 with what was learned" in printed
    assert "refused:" not in printed


def test_a_condition_is_about_the_request_as_it_was_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules read it without the members that are exempted from the schema."""
    monkeypatch.chdir(tmp_path)
    Path("contract.yaml").write_text("""format: 1
exemptions:
- {rule: invalid_type, at: previous_response_id}
- {rule: output_needs_call, at: input, when: [{at: previous_response_id, is: [number]}]}
""")
    assert verdict(previous_response_id=7, input=[OUTPUT]) == ""
    assert verdict(input=[OUTPUT]).startswith("No tool call found for function call output")


def test_what_depends_on_no_model_is_derived_for_all(learn: Learn) -> None:
    tools: list[dict[str, Any]] = [{"type": "mcp", "server_label": "a", "require_approval": "never"}]
    assert "models" not in learn(taken(tools=tools))
    assert verdict(model="gpt-5", tools=tools) == ""
