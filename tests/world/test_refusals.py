"""Requests whose keys lead to no World: kept once for all Worlds, which hear of those that came while they were there."""

import sys
from typing import Any

import pytest

from harness.report.judge_world import judge_world
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.refusals import MAX_BODY, MAX_SHOWN
from harness.world.world import World
from tests.support.in_process import ask, send


def heard(world: World) -> list[tuple[int, str]]:
    return [(before, stray.key) for before, stray in world.strays]


def test_worlds_hear_of_those_since_their_begin_and_before_which_of_their_own_they_came() -> None:
    api = MockApi()
    ask(api, key="early")
    one = api.open("sk-one").world
    ask(api, key="first")
    other = api.open("sk-other").world
    for _ in range(2):
        list_models(api, "sk-one")
    ask(api, key="second")
    list_models(api, "sk-one")
    ask(api, key="third")
    assert heard(one) == [(0, "first"), (2, "second"), (3, "third")]
    assert heard(other) == [(0, "second"), (0, "third")]
    api.close("sk-other")
    ask(api, key="late")
    assert heard(other) == [(0, "second"), (0, "third")]
    assert heard(one)[-1] == (3, "late")


def list_models(api: MockApi, key: str) -> None:
    send(api, "GET /v1/models", key=key)


def test_the_newest_are_shown() -> None:
    api = MockApi()
    world = api.open("sk-one").world
    for number in range(MAX_SHOWN + 5):
        ask(api, key=f"key {number}")
        list_models(api, "sk-one")
    assert heard(world) == [(number, f"key {number}") for number in range(5, MAX_SHOWN + 5)]


def test_one_costs_the_same_however_many_worlds_there_are() -> None:
    references = []
    for count in (1, 50):
        api = MockApi()
        for number in range(count):
            api.open(f"sk-{number}")
        references.append(sys.getrefcount(ask(api, key="wrong")))
    assert references[0] == references[1]


def test_one_at_another_address_is_not_what_a_message_expects() -> None:
    api = MockApi()
    with pytest.raises(AssertionError, match="No request was refused by"), api.open("sk-one").refuses("No such model"):
        send(api, "GET /v1/nothing", key="sk-one")


def test_a_large_body_is_not_kept() -> None:
    api = MockApi()
    world = api.open("sk-one").world
    for input in ("small", "x" * MAX_BODY):
        ask(api, input, key="wrong")
    bodies: list[Any] = [stray.request.body for _, stray in world.strays]
    assert bodies == [{"model": "gpt-4.1", "input": "small"}, None]
    assert world.strays[-1][1].request.raw == b""


def test_a_report_names_them() -> None:
    api = MockApi()
    mock = api.open("sk-one")
    ask(api, key="wrong")
    list_models(api, "sk-one")
    ask(api, key="wrong")
    told = "POST /responses, before any request of this test\n          POST /responses, after request 1"
    assert told in judge_world(mock).report


def test_a_refusal_that_is_expected_takes_those_that_come_meanwhile() -> None:
    api = MockApi()
    mock = Mock(api.open("sk-one").world)
    ask(api, key="before")
    with mock.refuses("auth_invalid_key") as refused:
        ask(api, key="meanwhile")
        assert len(refused.exchanges) == 1
    ask(api, key="after")
    assert [exchange.request.headers["authorization"] for exchange in refused.exchanges] == ["Bearer meanwhile"]
    unexpected = [exchange.request.headers["authorization"] for exchange in mock.world.refusals.unexpected_strays]
    assert unexpected == ["Bearer before", "Bearer after"]
