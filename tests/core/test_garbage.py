"""When Python collects garbage: a server does it little at a time, whatever it replaces."""

from __future__ import annotations

import gc
from weakref import ref

from harness.core.garbage import collect_new_garbage, paused_collection, small_collections
from harness.core.limits import Limits
from harness.items import message
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.processes import wait_until
from tests.support.servers.json_client import send

KEPT = 5
HI = {"model": "gpt-4.1", "input": "hi"}


class Node:
    """An object that refers to another one."""

    next: Node


def young_worlds() -> int:
    """Count the Worlds that the next collection of new objects would walk over."""
    return sum(isinstance(held, World) for generation in (0, 1) for held in gc.get_objects(generation))


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
    assert gc.get_threshold() == before
