"""What a check says of a request besides why it is refused, and of a World with another account."""

from __future__ import annotations

from dataclasses import replace

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
        assert transcript is not None
        assert transcript.added == items

    def test_is_none_where_no_rule_reads_it(self, world: World) -> None:
        assert check_request(request_for(), world).transcript is None
        assert check_request(request_for({"seed": 1}), world).transcript is None


class TestAnotherAccount:
    def test_decides_in_place_of_that_of_the_world(self, world: World) -> None:
        failing = Organization(failing=True)
        violation = check(request_for(), world, failing)
        assert violation is not None
        assert violation.rule.id == "server_error"
        assert check(request_for(), World(options=WorldOptions(organization=failing)), Organization()) is None

    def test_changes_nothing_in_the_world(self, world: World) -> None:
        check(request_for(), world, replace(world.account, failing=True))
        assert check(request_for(), world) is None

    def test_may_be_that_of_a_connection(self, world: World) -> None:
        violation = check(request_for(), ConnectionWorld(world), Organization(out_of_quota=True))
        assert violation is not None
        assert violation.rule.id == "insufficient_quota"

    def test_does_not_open_what_needs_a_key(self) -> None:
        violation = check(request_for(), None, Organization())
        assert violation is not None
        assert violation.rule.id == "auth_invalid_key"


class TestEntriesOfTheUsersContract:
    @pytest.fixture
    def world(self, world: World) -> World:
        world.overrides = Overrides((BLUE,), (RED,))
        return world

    def test_are_named_where_they_act(self, world: World) -> None:
        checked = check_request(request_for({"colour": "blue"}), world)
        assert (checked.violation, checked.acted) == (None, (BLUE,))
        assert "colour" not in checked.request.body

    def test_are_all_named(self, world: World) -> None:
        checked = check_request(request_for({"colour": "blue", "metadata": {"a": "red"}}), world)
        assert checked.violation is not None
        assert (checked.violation.error.message, checked.acted) == ("No red.", (BLUE, RED))

    def test_are_not_named_where_they_do_not(self, world: World) -> None:
        assert check_request(request_for(), world).acted == ()
        assert check_request(request_for({"seed": 1}), world).acted == ()
