"""Which rules a request can break at all: the others are not called, and what is remembered of that is bounded."""

from typing import Any

import pytest

from harness.api.http.bodies import parse_body
from harness.contract import check as contract
from harness.contract import rule_plan
from harness.contract.call import WorldCall
from harness.contract.rule import RULES
from harness.contract.rule_plan import forget_plans, plan_rules
from harness.core.exchange import Request
from harness.world.world import World
from tests.support.checked import refused, request
from tests.support.tools import CALL


def test_names_that_a_client_makes_up_are_not_remembered() -> None:
    made = rule_plan._make_plan.cache_info().currsize
    for number in range(50):
        request = Request("POST", "/responses", body={"model": "gpt-4.1", f"x{number}": 1}, operation="POST /responses")
        contract.check(WorldCall(request, World()))
    assert rule_plan._make_plan.cache_info().currsize <= made + 1


class TestRulesThatCannotApply:
    """A rule with `mentions` or `items` runs only for a body that has a word, a transcript that has a type."""

    BARE_IMAGE = b'{"model": "m", "input": [{"role": "user", "content": [{"type": "input_%b", "detail": "auto"}]}]}'

    def rules_for(self, items: list[Any], raw: bytes = b"") -> set[str]:
        sent, world = request({"input": items}, raw=raw), World()
        return {rule.id for rule in plan_rules(sent, world).narrow(WorldCall(sent, world))}

    def test_rules_that_cannot_apply_are_not_called(self) -> None:
        called = self.rules_for([{"role": "user", "content": "hi"}])
        assert called.isdisjoint(rule.id for rule in RULES.values() if rule.mentions or rule.items)

    def test_rules_that_cannot_apply_are_called_once_a_type_or_a_word_is_there(self) -> None:
        assert {"call_needs_output", "call_without_namespace"} <= self.rules_for([CALL])
        assert "configuration_updates_adjacent" in self.rules_for([{"type": "configuration_update"}])

    def test_rules_that_cannot_apply_are_called_if_what_is_stored_has_the_type(self) -> None:
        world = World()
        made = {"id": "resp_1", "output": [{**CALL, "status": "completed"}]}
        world.store.put_response(made, [], world.store.chain_of({}))
        assert refused(request({"previous_response_id": "resp_1"}), world) == "call_needs_output"

    @pytest.mark.parametrize("word", [b"image", b"im\\u0061ge"])
    def test_a_word_is_one_however_it_is_escaped(self, word: bytes) -> None:
        raw = self.BARE_IMAGE % word
        assert refused(request(parse_body(raw)[0], raw=raw)) == "image_without_source"

    def test_rules_that_cannot_apply_without_bytes_to_search_all_are_called(self) -> None:
        items = [{"role": "user", "content": "hi", "n": 1 << 70}]
        assert "image_without_source" in self.rules_for(items)

    def test_no_more_sets_are_remembered_than_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rule_plan, "MAX_NARROWED", 0)
        forget_plans()
        assert "call_needs_output" not in self.rules_for([{"role": "user", "content": "hi"}])
        forget_plans()
