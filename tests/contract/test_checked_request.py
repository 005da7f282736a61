"""What a check says of a request besides why it is refused, and of a World with another account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.contract.check import check, check_request
from harness.contract.overrides import AddedRefusal, Condition, Exemption, MemberCondition, Overrides
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.world.options import WorldOptions
from harness.world.websocket_state import ConnectionWorld
from harness.world.world import World
from tests.support.rule_examples import request_for

BLUE = Exemption("unknown_parameter", "colour", Condition())
RED = AddedRefusal(ApiError(400, "No red."), Condition(members=(MemberCondition("metadata.a", ("red",)),)))


@pytest.fixture
def world() -> World:
    return World()


class TestTheTranscript:
    def test_is_that_which_the_rules_have_read(self, world: World) -> None:
        items = [{"role": "user", "content": "hi"}]
        transcript = check_request(request_for({"input": items}), world).transcript
        assert transcript.added == items

    @pytest.mark.parametrize("body", [{}, {"seed": 1}])
    def test_is_none_where_no_rule_reads_it(self, world: World, body: dict[str, int]) -> None:
        assert check_request(request_for(body), world).transcript is None


class TestAnotherAccount:
    @pytest.mark.parametrize(
        ("account", "make", "rule"),
        [
            (Organization(failing=True), World, "server_error"),
            (Organization(), lambda: World(options=WorldOptions(organization=Organization(failing=True))), None),
            (Organization(out_of_quota=True), lambda: ConnectionWorld(World()), "insufficient_quota"),
            (Organization(), lambda: None, "auth_invalid_key"),
        ],
        ids=["fails", "does not fail as the world's does", "of a connection", "without a world opens nothing"],
    )
    def test_decides_in_place_of_that_of_the_world(
        self, account: Organization, make: Callable[[], Any], rule: str | None
    ) -> None:
        violation = check(request_for(), make(), account)
        assert (violation and violation.rule.id) == rule

    def test_changes_nothing_in_the_world(self, world: World) -> None:
        check(request_for(), world, replace(world.account, failing=True))
        assert check(request_for(), world) is None


class TestEntriesOfTheUsersContract:
    @pytest.fixture
    def world(self, world: World) -> World:
        world.overrides = Overrides((BLUE,), (RED,))
        return world

    @pytest.mark.parametrize(
        ("body", "message", "acted"),
        [
            ({"colour": "blue"}, "", (BLUE,)),
            ({"colour": "blue", "metadata": {"a": "red"}}, "No red.", (BLUE, RED)),
            ({}, "", ()),
            ({"seed": 1}, "Unknown parameter: 'seed'.", ()),
        ],
    )
    def test_are_all_named_where_they_act(
        self, world: World, body: dict[str, Any], message: str, acted: tuple[Any, ...]
    ) -> None:
        checked = check_request(request_for(body), world)
        assert (checked.violation.error.message if checked.violation else "", checked.acted) == (message, acted)
        assert "colour" not in checked.request.body
