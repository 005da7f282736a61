"""Requests on hold: a person decides what the model answers, in place of the script."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from harness.core.delivery import DISCONNECT_AT_END, SendRecord
from harness.core.errors import HarnessError, Place
from harness.core.exchange import Answer, ReceivedRequest
from harness.world.route import Route, Turn
from harness.world.world import World

ASKS_MODEL = ("/responses", "/runs", "/chat/completions")
"""The path suffixes of requests that ask a model for an answer."""


@dataclass(eq=False, slots=True)
class HeldRequest:
    """A held request: its number among all held requests, the received bytes, the record of its edge.

    `turn` is what the model answers, None for what the script says; it is set before `done` completes.
    """

    number: int
    world: World
    received: ReceivedRequest
    edge: SendRecord | None
    done: asyncio.Future[None]
    turn: Turn | None = None

    @property
    def has_left(self) -> bool:
        """Whether the client has disconnected."""
        return self.edge is not None and self.edge.ended


@dataclass(slots=True)
class HeldRequests:
    """The held requests of a server; `keys` are the keys of the Worlds that hold their requests.

    comes ──its World holds──> waits ──a turn, or the script's──> answered
                                 └──the client leaves──> forgotten
    """

    keys: set[str] = field(default_factory=set)
    waiting: dict[int, HeldRequest] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def hold(self, world: World | None, received: ReceivedRequest, edge: SendRecord | None) -> HeldRequest | None:
        """Hold a request if it asks a model and its World holds requests; None for any other request."""
        if world is None or world.api_key not in self.keys or not received.path.endswith(ASKS_MODEL):
            return None
        held = HeldRequest(next(self._numbers), world, received, edge, asyncio.get_running_loop().create_future())
        self.waiting[held.number] = held
        return held

    def of(self, world: World) -> list[HeldRequest]:
        """List the held requests of a World, oldest first, after forgetting those whose client has left."""
        for held in list(self.waiting.values()):
            if held.has_left:
                self._release(held, None)
        return [held for held in self.waiting.values() if held.world is world]

    def answer(self, world: World, number: int, turn: Turn | None) -> None:
        """Answer a held request with a turn, or as the script says without one.

        HarnessError if no such request is held.
        """
        held = next((held for held in self.of(world) if held.number == number), None)
        if held is None:
            raise HarnessError(f"request {number} is not pending: it was answered, or its client has disconnected.")
        self._release(held, turn)

    def end(self, world: World) -> None:
        """Stop holding the requests of a World, and release those that are held."""
        self.keys.discard(world.api_key)
        for held in self.of(world):
            self._release(held, None)

    def _release(self, held: HeldRequest, turn: Turn | None) -> None:
        del self.waiting[held.number]
        held.turn = turn
        if not held.done.done():
            held.done.set_result(None)


BY_HAND = Place("by hand")
"""The place reported for a turn that was given by hand to a held request."""


def answer_held(handle: Callable[..., Answer], held: HeldRequest) -> Answer:
    """Answer a request that was held, with its turn ahead of the script; a client that has left gets no answer."""
    if held.has_left:
        return Answer(0, delivery=DISCONNECT_AT_END)
    script = held.world.script
    by_hand = Route({}, vocabulary=script.vocabulary)
    if held.turn is not None:
        # Ahead of all routes, for this request alone: the route is removed again whether its turn was taken or not.
        script.routes.insert(0, by_hand.add_turns([held.turn], [[BY_HAND]]))
    try:
        return handle(held.received, edge=held.edge)
    finally:
        script.routes = [route for route in script.routes if route is not by_hand]
