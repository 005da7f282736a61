"""Requests on hold: a person decides what the model answers, in place of the script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from harness.core.delivery import DISCONNECT_AT_END
from harness.core.edge import EdgeRecord
from harness.core.errors import HarnessError
from harness.core.exchange import Answer, ReceivedRequest
from harness.core.text.raised import Place
from harness.world.route import Route, Turn
from harness.world.world import World

ASKS_MODEL = ("/responses", "/runs", "/chat/completions")
"""How the paths of the requests end that ask the model for something."""


@dataclass(eq=False, slots=True)
class HeldRequest:
    """A request of a World that waits: the number among all waiting ones, the received bytes, the record of its edge.

    `turn` is what the model answers, None for what the script says; it is given before `done` ends.
    """

    number: int
    world: World
    received: ReceivedRequest
    edge: EdgeRecord | None
    done: asyncio.Future[None]
    turn: Turn | None = None

    @property
    def has_left(self) -> bool:
        """Whether the client waits no longer."""
        return self.edge is not None and self.edge.ended


@dataclass(slots=True)
class HeldRequests:
    """The requests of a server that wait; `keys` are those of the Worlds that let theirs wait.

    comes ──its World holds──> waits ──a turn, or the script's──> answered
                                 └──the client leaves──> forgotten
    """

    keys: set[str] = field(default_factory=set)
    waiting: dict[int, HeldRequest] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def hold(self, world: World | None, received: ReceivedRequest, edge: EdgeRecord | None) -> HeldRequest | None:
        """Let a request wait that asks the model of a World that holds; None for any other."""
        if world is None or world.api_key not in self.keys or not received.path.endswith(ASKS_MODEL):
            return None
        held = HeldRequest(next(self._numbers), world, received, edge, asyncio.get_running_loop().create_future())
        self.waiting[held.number] = held
        return held

    def of(self, world: World) -> list[HeldRequest]:
        """List the requests of a World that wait, oldest first, and forget those whose client has left."""
        for held in list(self.waiting.values()):
            if held.has_left:
                self._release(held, None)
        return [held for held in self.waiting.values() if held.world is world]

    def answer(self, world: World, number: int, turn: Turn | None) -> None:
        """Answer a request with a turn, or as the script says without one; a HarnessError when it does not wait."""
        held = next((held for held in self.of(world) if held.number == number), None)
        if held is None:
            raise HarnessError(f"request {number} does not wait: it was answered, or its client has left.")
        self._release(held, turn)

    def end(self, world: World) -> None:
        """Let the requests of a World through from now on, and those that wait."""
        self.keys.discard(world.api_key)
        for held in self.of(world):
            self._release(held, None)

    def _release(self, held: HeldRequest, turn: Turn | None) -> None:
        del self.waiting[held.number]
        held.turn = turn
        if not held.done.done():
            held.done.set_result(None)


BY_HAND = Place("by hand")
"""Where a turn stands that somebody gave to a request that waited."""


def answer_held(handle: Callable[..., Answer], held: HeldRequest) -> Answer:
    """Answer a request that has waited, with its turn before all of the script; nothing to a client that has left."""
    if held.has_left:
        return Answer(0, delivery=DISCONNECT_AT_END)
    script = held.world.script
    by_hand = Route({}, vocabulary=script.vocabulary)
    if held.turn is not None:
        # In front of all routes for this request alone: it goes again, taken or not.
        script.routes.insert(0, by_hand.add_turns([held.turn], [[BY_HAND]]))
    try:
        return handle(held.received, edge=held.edge)
    finally:
        script.routes = [route for route in script.routes if route is not by_hand]
