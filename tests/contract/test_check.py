"""The contract: which rule speaks, in which order, about what."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

import harness.foundry  # noqa: F401  (registers every operation)
from harness.contract.call import WorldCall
from harness.contract.check import check, named_rules, rule_for
from harness.contract.overrides import AddedRefusal, Condition, Exemption, MemberCondition, Overrides
from harness.contract.rule import RULES, assumed, rule
from harness.contract.rules.example_requests import CALL
from harness.contract.schema import load, root_names, schemas_directory
from harness.core.errors import ApiError
from harness.core.exchange import JsonFault, Request
from harness.world.world import World
from tests.support.checked import AUTH, refused, request
from tests.support.rule_examples import request_for


class TestTheOrder:
    @pytest.mark.parametrize(("headers", "rule"), [({}, "auth_missing"), (AUTH, "body_syntax")])
    def test_the_order_begins_with_the_key_and_what_came_over_the_wire(
        self, headers: dict[str, str], rule: str
    ) -> None:
        sent = Request("POST", "/responses", headers, fault=JsonFault("syntax"), operation="POST /responses")
        assert refused(sent) == rule

    def test_then_the_schema_then_the_state(self) -> None:
        unknown = {"previous_response_id": "resp_0"}
        assert refused(request({**unknown, "seed": 1})) == "unknown_parameter"
        assert refused(request(unknown)) == "previous_response_not_found"
        assert refused(request()) is None

    def test_the_order_ignores_the_schema_where_there_is_none(self) -> None:
        named = {"params": {"conversation_id": "conv_x"}, "operation": "GET /conversations/{conversation_id}"}
        assert refused(Request("GET", "/conversations/conv_x", AUTH, **named)) == "conversation_path_not_found"

    def test_judges_the_query_of_a_request_without_body(self) -> None:
        named = {"params": {"response_id": "resp_0"}, "operation": "GET /responses/{response_id}"}
        sent = Request("GET", "/responses/resp_0", AUTH, {"stream": "x"}, schema="RetrieveResponse", **named)
        assert refused(sent) == "invalid_type"

    def test_the_order_changes_nothing_in_the_body(self) -> None:
        sent = request({"temperature": None, "input": [{"role": "user", "content": "x"}]})
        before = str(sent.body)
        assert refused(sent) is None
        assert str(sent.body) == before


SUBJECTS = ("request", "world", "transcript")


def subjects(*names: str) -> Any:
    """Return a rule that takes these subjects and yields what they are."""
    scope: dict[str, Any] = {}
    args = ", ".join(names)
    exec(
        f'def judge({args}):\n    """A rule."""\n    yield {{"seen": " ".join(type(one).__name__ for one in ({args},))}}',
        scope,
    )
    return scope["judge"]


@pytest.fixture
def registered(registry: None) -> Callable[[Any, str], None]:
    """Register a rule on an operation of its own."""

    def register(judge: Any, on: str) -> None:
        judge.__module__ = "mine"
        rule(ApiError(400, "{seen}"), assumed("a test"), on=on, rejects={})(judge)

    return register


@pytest.mark.parametrize("names", [names for size in (1, 2, 3) for names in combinations(SUBJECTS, size)], ids=" ".join)
def test_a_rule_gets_the_subjects_it_accepts(registered: Any, names: tuple[str, ...]) -> None:
    registered(subjects(*names), "POST /mine")
    refusal = check(WorldCall(Request("POST", "/mine", AUTH, body={}, operation="POST /mine"), World())).violation
    assert refusal.error.message == " ".join(names).title()


class TestTheWords:
    @pytest.mark.parametrize(
        ("keyword", "named", "rule"),
        [
            ("enum", "input_item_type", "input_item_type"),
            ("type", None, "invalid_type"),
            ("type", "no_such_rule", "invalid_type"),
        ],
    )
    def test_the_words_are_those_of_the_rule_the_schema_names_or_of_the_keyword(
        self, keyword: str, named: str | None, rule: str
    ) -> None:
        assert rule_for(keyword, named).id == rule

    def test_the_words_that_schemas_name_all_exist(self) -> None:
        for root in root_names(schemas_directory()):
            assert named_rules(load(root)) <= set(RULES)

    def test_the_words_are_found_at_every_depth(self) -> None:
        inner = {"properties": {"a": {"x-known-rule": "a_x", "x-rule": "input_item_type"}}}
        schema = {"anyOf": [{"x-rule": "b_x"}, inner], "x-rule": 5}
        assert named_rules(schema) == {"a_x", "b_x", "input_item_type"}


BLUE = Exemption("unknown_parameter", "colour", Condition())
RED = AddedRefusal(ApiError(400, "No red."), Condition(members=(MemberCondition("metadata.a", ("red",)),)))


class TestARuleThatRaises:
    @pytest.mark.parametrize("exempt", [(), (BLUE,)])
    def test_a_rule_that_raises_is_no_acceptance_where_recordings_exempted_something(
        self, registered: Any, exempt: Any
    ) -> None:
        def judge(request):
            """A rule with a defect."""
            yield {"seen": request.body["absent"]}

        registered(judge, "POST /responses")
        world = World()
        world.overrides = Overrides(exempt)
        with pytest.raises(KeyError, match="absent"):
            check(WorldCall(request_for({"colour": "blue"} if exempt else {}), world))


def test_an_exempted_id_may_be_anything() -> None:
    world, id = World(), "input[].call_id"
    exempt = (("invalid_type", id), ("missing_required_parameter", id), ("call_needs_output", "input"))
    world.overrides = Overrides(tuple(Exemption(rule, at, Condition()) for rule, at in exempt))
    items = [{**CALL, "call_id": ["call_1"]}, CALL]
    assert check(WorldCall(request_for({"input": items}), world)).violation is None


class TestEntriesOfTheUsersContract:
    @pytest.fixture
    def world(self) -> World:
        world = World()
        world.overrides = Overrides((BLUE,), (RED,))
        return world

    @pytest.mark.parametrize(
        ("body", "message", "applied"),
        [
            ({"colour": "blue"}, "", (BLUE,)),
            ({"colour": "blue", "metadata": {"a": "red"}}, "No red.", (BLUE, RED)),
            ({}, "", ()),
            ({"seed": 1}, "Unknown parameter: 'seed'.", ()),
        ],
    )
    def test_entries_of_the_users_contract_are_all_named_where_they_act(
        self, world: World, body: dict[str, Any], message: str, applied: tuple[Any, ...]
    ) -> None:
        checked = check(WorldCall(request_for(body), world))
        assert (checked.violation.error.message if checked.violation else "", checked.applied) == (message, applied)
        assert "colour" not in checked.call.body
