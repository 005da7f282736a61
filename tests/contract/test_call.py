"""A call: what is derived from a request to a World, once, when it is first read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.contract.call import WorldCall, drop_nulls
from harness.contract.check import check
from harness.core.account import Organization
from harness.world.websocket_state import ConnectionWorld
from harness.world.world import World, WorldOptions
from tests.support.rule_examples import request_for


@pytest.fixture
def world() -> World:
    return World()


class TestAMember:
    def test_a_member_is_derived_once(self, world: World) -> None:
        call = WorldCall(request_for({"input": [{"role": "user", "content": "hi"}], "temperature": None}), world)
        assert call.transcript is call.transcript
        assert call.members is call.members
        assert "temperature" not in call.members

    @pytest.mark.parametrize(("body", "members"), [(None, {}), ([None], {}), ({"a": None}, {})])
    def test_a_body_without_members_has_none(self, world: World, body: Any, members: dict[str, Any]) -> None:
        assert WorldCall(request_for()._replace(body=body), world).members == members

    @pytest.mark.parametrize(("named", "id"), [("conv_1", "conv_1"), ({"id": "conv_2"}, "conv_2"), (None, None)])
    def test_a_member_names_the_conversation(self, world: World, named: Any, id: str | None) -> None:
        assert WorldCall(request_for({"conversation": named}), world).conversation == id

    def test_a_member_is_another_calls_for_another_request(self, world: World) -> None:
        call = WorldCall(request_for({"model": "gpt-4.1"}), world)
        assert call.family.name == "gpt-4.1"
        assert call.with_request(request_for({"model": "gpt-5"})).family.name == "gpt-5"
        assert call.with_request(call.request) is call


class TestAnotherAccount:
    @pytest.mark.parametrize(
        ("account", "make", "rule"),
        [
            (Organization(failing=True), World, "server_error"),
            (Organization(), lambda: World(options=WorldOptions(organization=Organization(failing=True))), None),
            (Organization(out_of_quota=True), lambda: ConnectionWorld(World()), "credit_balance_exhausted"),
            (Organization(), lambda: None, "auth_invalid_key"),
        ],
        ids=["fails", "does not fail as the world's does", "of a connection", "without a world opens nothing"],
    )
    def test_decides_in_place_of_that_of_the_world(
        self, account: Organization, make: Callable[[], Any], rule: str | None
    ) -> None:
        violation = check(WorldCall(request_for(), make()).with_account(account)).violation
        assert (violation and violation.rule.id) == rule

    def test_another_account_changes_nothing_in_the_world(self, world: World) -> None:
        call = WorldCall(request_for(), world)
        assert check(call.with_account(replace(world.account, failing=True))).violation is not None
        assert check(call).violation is None


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ({"tools": None, "text": {"format": None}}, {"text": {"format": None}}),
        ({"model": None, "input": None}, {"model": None, "input": None}),
        ({"a": 1}, {"a": 1}),
        ([None], [None]),
        (None, None),
    ],
)
def test_null_is_absence_at_the_top_level_alone(body: Any, left: Any) -> None:
    assert drop_nulls(body) == left
