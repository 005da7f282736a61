"""The Worlds of a server: found by name, and walked over without keeping the server from its clients."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from fastapi import Request

from harness.items import message
from harness.server import keyed_worlds
from harness.server.control_plane import live
from harness.server.control_plane.requests import Worker
from harness.server.control_plane.view import LiveView
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import MockApi
from harness.server.observe.metrics import Metrics
from tests.support.in_process import post

WORLDS = 40


@pytest.fixture(autouse=True)
def _slices_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_worlds, "SLICE_SECONDS", 0.0)


@pytest.fixture
def api() -> MockApi:
    made = MockApi(fallback=lambda _: [message("ok")])
    for number in range(WORLDS):
        post(made, {"model": "gpt-4.1", "input": "hi" if number % 2 else 17}, key=f"sk-{number}")
    return made


async def count_turns(work: Awaitable[Any]) -> tuple[int, Any]:
    """Await something; return how often the event loop served others meanwhile, and what came of it."""
    turns, task = 0, asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return turns, task.result()


async def list_worlds(api: MockApi) -> Any:
    from harness.server.control_plane.app import control_app

    return orjson.loads((await live.worlds(Request({"type": "http", "app": control_app(api)}))).body)


@pytest.mark.parametrize(
    "answer",
    [list_worlds, lambda api: LiveView(api, Worker()).run(), lambda api: Metrics(api).answer()],
    ids=["worlds", "view/run", "metrics"],
)
def test_an_answer_about_all_worlds_serves_others_between_two_of_them(
    answer: Callable[[MockApi], Awaitable[Any]], api: MockApi
) -> None:
    turns, _ = asyncio.run(count_turns(answer(api)))
    assert turns >= WORLDS


def test_what_closes_meanwhile_is_passed_over_and_what_opens_comes_the_next_time(api: MockApi) -> None:
    async def walk() -> list[str]:
        seen = []
        async for world in api.each_world():
            seen.append(world.api_key)
            if world.api_key == "sk-1":
                api.close("sk-0")
                api.close("sk-2")
                api.open("sk-2")
                api.open("sk-new")
        return seen

    assert asyncio.run(walk()) == ["sk-0", "sk-1", *(f"sk-{number}" for number in range(3, WORLDS))]
    assert asyncio.run(list_worlds(api))["worlds"][-1]["name"] == shown_name(api.worlds["sk-new"])


class TestAName:
    def test_leads_to_the_newest_world_of_that_name(self, api: MockApi) -> None:
        first, second = (api.open(key, "talk").world for key in ("sk-a", "sk-b"))
        assert api.find_by_name("talk") is second
        api.close("sk-b")
        assert api.find_by_name("talk") is first
        api.close("sk-a")
        assert api.find_by_name("talk") is None

    def test_a_name_of_a_world_without_one_is_made_from_its_key(self, api: MockApi) -> None:
        world = api.worlds["sk-7"]
        assert api.find_by_name(shown_name(world)) is world
        assert api.find_by_name("sk-7") is None

    def test_a_name_costs_no_walk_over_the_worlds(self, api: MockApi, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keyed_worlds, "shown_name", None)
        assert api.find_by_name("unknown") is None
