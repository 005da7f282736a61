"""What is full loses its oldest: never more stays than allowed, and what is new stays."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from harness.core.limits import (
    Limits,
    collect_new_garbage,
    drop_before,
    drop_oldest,
    oldest_beyond,
    paused_collection,
    small_collections,
)
from harness.items import message
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.processes import wait_until
from tests.support.servers.json_client import send


@pytest.mark.parametrize(
    ("count", "most", "left"), [(5, None, 5), (5, 5, 5), (5, 3, 3), (64, 64, 64), (65, 64, 63), (640, 639, 630)]
)
def test_the_newest_stay_and_what_is_full_makes_room_for_several(count: int, most: int | None, left: int) -> None:
    kept = list(range(count))
    gone = oldest_beyond(dict.fromkeys(kept), most)
    drop_oldest(kept, most)
    assert kept == list(range(count - left, count))
    assert gone == list(range(count - left))


def test_a_table_loses_what_is_before_a_number() -> None:
    table = {3: "a", 4: "b", 7: "c"}
    drop_before(table, 5)
    assert table == {7: "c"}


KEPT = 5
HI = {"model": "gpt-4.1", "input": "hi"}


class Node:
    """An object that refers to another one."""

    next: Node


def young_worlds() -> int:
    """Count the Worlds that the next collection of new objects would walk over."""
    return sum(isinstance(held, World) for generation in (0, 1) for held in gc.get_objects(generation))


@pytest.mark.slow
def test_a_server_that_replaces_its_worlds_walks_over_none_of_them_twice() -> None:
    gc.collect()
    api = MockApi(fallback=lambda _: [message("ok")], limits=Limits(worlds=KEPT))
    with small_collections(), serve_in_thread(api) as server:
        for number in range(4 * KEPT):
            send(server.port, "POST", "/v1/responses", HI, key=f"sk-{number}")
        assert len(api.worlds) == KEPT
        assert wait_until(lambda: young_worlds() == 0, seconds=5)


def test_the_garbage_of_other_processes_is_left_to_python() -> None:
    with paused_collection():
        assert not is_collected()
        with small_collections():
            assert is_collected()
        assert not is_collected()


def is_collected() -> bool:
    """Return whether an object that refers to itself is gone after a collection of new garbage."""
    node = Node()
    node.next, left = node, ref(node)
    del node
    collect_new_garbage()
    return left() is None


def test_thresholds_are_those_of_before_at_the_end() -> None:
    before = gc.get_threshold()
    with small_collections():
        assert gc.get_threshold() != before
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
