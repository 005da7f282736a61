"""What is decided by one request is not checked again of others that differ by their input alone: with the same outcome."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.contract.call import WorldCall
from harness.contract.check import Checked, Violation, check
from harness.contract.overrides import Overrides
from harness.contract.rule_plan import RulePlan
from harness.core.exchange import Json, Request
from harness.server.shared_checks import Prepared, prepare
from harness.verify.examples import EXAMPLE_HEADERS, play_case
from harness.verify.judge_files import verify_recordings
from harness.world.api_call import ApiCall
from harness.world.world import World
from tests.support.rule_examples import BODIES, CASES, request_for
from tests.support.shared import PRESENT, RECORDINGS

MESSAGES = [{"role": "user", "content": "hi"}]
INPUTS = [
    *[body["input"] for body in BODIES if "input" in body],
    *("", [], None, 7, {}, [7], [MESSAGES], [{"role": "user"}], [{"role": "user", "content": 7}]),
]
"""The inputs of these examples, and some that break the schema."""


def with_input(request: Request, input: Any) -> Request:
    body = {**request.body, "input": input}
    return request._replace(body=body, raw=orjson.dumps(body))


def accepted_inputs() -> st.SearchStrategy[Any]:
    """Inputs that are taken with nothing beside them: most others leave nothing to prepare."""
    world = World()
    checked = [(check(WorldCall(with_input(request_for({}), input), world)), input) for input in INPUTS]
    return st.sampled_from([input for found, input in checked if found.violation is None])


def outcomes(request: Request, world: Any, prepared: Prepared) -> tuple[Violation | None, Violation | None]:
    """Why a request is refused: checked as a whole, and by what is not decided."""
    return check(ApiCall(request, world)).violation, violation_by(prepared, ApiCall(request, world))


def violation_by(prepared: Prepared, call: ApiCall) -> Violation | None:
    return prepared.find_violation(call) if prepared.accepts_input(call) else check(call).violation


def patch_checks(patch: pytest.MonkeyPatch, function: Any) -> None:
    for module in ("server.answering", "server.shared_checks", "verify.judging.judge"):
        patch.setattr(f"harness.{module}.check", function)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Compares, of each request that is checked from now on, both ways to check it; counts its outcomes."""
    counts = Counter[str]()

    def compare(call: WorldCall, violation: Violation | None) -> None:
        other = ApiCall(
            with_input(call.request, "hi" if isinstance(call.body["input"], list) else MESSAGES), call.world
        )
        if check(other).violation is None and (prepared := prepare(other)):
            assert violation_by(prepared, ApiCall(call.request, call.world)) == violation
            counts["refused" if violation else "accepted"] += 1

    def check_both(call: WorldCall, is_exempt: Any = None) -> Checked[WorldCall]:
        checked = check(call, is_exempt)
        if call.world is not None and isinstance(call.body, dict) and "input" in call.body:
            with monkeypatch.context() as alone:
                patch_checks(alone, check)
                compare(call, checked.violation)
        return checked

    patch_checks(monkeypatch, check_both)
    return counts


class TestTheOutcomeIsTheSame:
    @pytest.mark.slow
    def test_the_outcome_is_the_same_in_all_examples(self, compared: Counter[str]) -> None:
        for case in CASES:
            play_case(case)
        assert compared["accepted"] > 300
        assert compared["refused"] > 80

    @pytest.mark.slow
    @pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")
    def test_the_outcome_is_the_same_in_recordings(self, compared: Counter[str], tmp_path: Path) -> None:
        verify_recordings(RECORDINGS, tmp_path)
        assert compared["accepted"] > 4000
        assert compared["refused"] > 50

    @settings(max_examples=40)
    @given(
        bodies=st.lists(st.sampled_from(BODIES), min_size=1, max_size=4),
        inputs=st.tuples(st.deferred(accepted_inputs), st.sampled_from(INPUTS)),
        dialect=st.sampled_from(["openai", "azure", "foundry"]),
    )
    def test_the_outcome_is_the_same_for_any_two_inputs(
        self, bodies: list[Json], inputs: tuple[Any, Any], dialect: str
    ) -> None:
        request, world = request_for(*bodies, dialect=dialect), World()
        first, second = (with_input(request, input) for input in inputs)
        assume(check(WorldCall(first, world)).violation is None)
        prepared = prepare(ApiCall(first, world))
        assert prepared is not None
        whole, rest = outcomes(second, world, prepared)
        assert whole == rest

    def test_the_outcome_is_the_same_for_each_input(self) -> None:
        request, world = request_for({"tools": [{"type": "web_search"}], "instructions": "Be brief."}), World()
        prepared = prepare(ApiCall(request, world))
        assert prepared is not None
        for input in (*INPUTS, "x" * 10_485_761):
            whole, rest = outcomes(with_input(request, input), world, prepared)
            assert whole == rest


class TestWhatIsSettled:
    def rules(self, plan: RulePlan) -> set[str]:
        return {declared.id for declared in (*plan.before, *plan.after)}

    def test_what_is_settled_are_the_rules_that_read_neither_input_nor_what_is_stored(self) -> None:
        prepared = prepare(ApiCall(request_for({"tools": [], "reasoning": {}}), World()))
        assert prepared is not None
        assert self.rules(prepared.about_text) >= {"input_empty", "context_length_exceeded"}
        assert self.rules(prepared.about_text).isdisjoint({"auth_missing", "model_not_found", "effort_unsupported"})
        assert self.rules(prepared.about_items) >= {"item_not_found", "call_needs_output", "images_unsupported"}

    def test_what_is_settled_is_not_checked_again(self) -> None:
        prepared, wrong = prepare(ApiCall(request_for(), World())), request_for({"seed": 1})
        assert check(WorldCall(wrong, World())).violation is not None
        assert prepared.find_violation(ApiCall(wrong, World())) is None

    def test_what_is_settled_of_a_project_is_so_while_the_same_agent_answers(self) -> None:
        body = {"agent_reference": {"type": "agent_reference", "name": "helper"}, "input": "hi"}
        request, world = request_for(body, dialect="foundry")._replace(body=body), World()
        prepared = prepare(ApiCall(request, world))
        assert prepared is not None
        assert self.rules(prepared.about_text).isdisjoint({"agent_incomplete", "user_identity_invalid"})
        assert prepared.holds_for(ApiCall(request, world))
        world.account = replace(world.account, agents={"helper": {"model": "gpt-4o"}})
        call = ApiCall(request, world)
        prepared = prepared._replace(account=world.account)
        assert not prepared.holds_for(call)

    def test_what_is_settled_is_all_but_the_input_where_that_breaks_the_schema(self) -> None:
        prepared, wrong = prepare(ApiCall(request_for(), World())), request_for({"seed": 1, "input": 7})
        whole, rest = outcomes(wrong, World(), prepared)
        assert whole == rest
        assert whole is not None
        assert whole.facts["path"] == "seed"


class TestNothingIsSettled:
    @pytest.fixture
    def world(self) -> World:
        return World()

    def test_nothing_is_settled_where_recordings_overrule_the_contract(self, world: World) -> None:
        world.overrides = Overrides()
        assert prepare(ApiCall(request_for(), world)) is None

    def test_nothing_is_settled_of_an_operation_without_input(self, world: World) -> None:
        request = Request("POST", "/conversations", EXAMPLE_HEADERS, body={}, operation="POST /conversations")
        assert prepare(ApiCall(request._replace(schema="CreateConversation"), world)) is None
        assert prepare(ApiCall(request, world)) is None
