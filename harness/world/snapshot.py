"""`take_snapshot`: a World as it is now, to be read in another thread while requests go on changing the World."""

from collections import deque
from copy import copy
from typing import Any, TypeVar

from harness.core.delivery import SendRecord
from harness.world.world import World

_CONTAINERS = (list, dict, set, deque)
_Thing = TypeVar("_Thing")


def take_snapshot(world: World) -> World:
    """Copy what requests change of a World and reports read; exchanges never change, so both Worlds share them.

    The store is shared, too: of it, reports only look up single responses. Nothing is delivered to the copy's webhooks.
    """
    taken = _copy(world)
    taken.courier = None
    taken.edge, taken.answered_by, taken.tool_runs = _copy(world.edge), _copy(world.answered_by), _copy(world.tool_runs)
    for number, record in world.edge.records.items():
        if isinstance(record, SendRecord) and not record.ended:
            taken.edge.records[number] = copy(record)
    taken.script = _copy(world.script)
    copies: dict[int, Any] = {id(route): _copy(route) for route in (*world.script.all_routes, *world.routed)}
    taken.script.routes = [copies[id(route)] for route in world.script.routes]
    taken.script.default = copies.get(id(world.script.default))
    taken.routed = tuple(copies[id(routed)] for routed in world.routed)
    for number, (route, turn, places, place) in world.answered_by.sources.items():
        taken.answered_by.sources[number] = copies.get(id(route), route), turn, places, place
    taken.approval_ledger, taken.prompt_cache = _copy(world.approval_ledger), _copy(world.prompt_cache)
    taken.webhooks = _copy(world.webhooks) if world.webhooks else None
    taken.heard_strays = world.heard_strays.copy()
    taken.refusals = world.refusals.copy(taken.exchanges, taken.heard_strays)
    return taken


def _copy(thing: _Thing) -> _Thing:
    """Copy an object with its own lists, dicts, sets and deques."""
    made = copy(thing)
    for name in getattr(thing, "__slots__", None) or vars(thing):
        if type(value := getattr(thing, name)) in _CONTAINERS:
            setattr(made, name, copy(value))
    return made
