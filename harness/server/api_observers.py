"""Observers of a mock: they are notified of each answer, of requests without a World, of Worlds judged or closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.core.exchange import Answer, ReceivedRequest, Stray

if TYPE_CHECKING:
    from harness.server.judgement import Permitted
    from harness.world.mock import Mock
    from harness.world.world import World


NOBODY = 1_000
"""A status that no answer has: nobody hears of any."""


class AnsweredRequest(NamedTuple):
    """A request with its answer, begun at `begun` (`perf_counter`).

    `operation` is empty when method and path say which it is. A request that `is_lost` came to no World, because what holds
    it cannot be reached. The exchange with this answer is in the journal of its `world`, if it has one.
    """

    begun: float
    received: ReceivedRequest
    answer: Answer
    operation: str = ""
    is_lost: bool = False
    world: World | None = None


class ApiObserver:
    """Hears what a mock does, in the thread that does it; a subclass overrides the methods of interest.

    Of answers it hears only those of at least the status `least_status`.
    """

    least_status = 0

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Hear of an answer, before it goes out: over a WebSocket of that to each event of the client."""

    def on_stray(self, stray: Stray) -> None:
        """Hear of a request to the API whose key leads to no World."""

    def on_judged(self, mock: Mock, permitted: Permitted) -> None:
        """Hear of a World that is judged over HTTP, and what is permitted in it."""

    def on_opened(self, world: World) -> None:
        """Hear of a new World."""

    def on_changed(self, world: World, what: str) -> None:
        """Hear of a World that a control request has changed, by the last part of its path: `script`."""

    def on_closed(self, world: World) -> None:
        """Hear of a World that is going to be forgotten."""


class ApiObservers(ApiObserver):
    """The observers of a mock, told one after the other."""

    def __init__(self) -> None:
        self.all: list[ApiObserver] = []
        self.least_status = NOBODY

    def add(self, observer: ApiObserver) -> None:
        """Register an observer."""
        self.all = [*self.all, observer]
        self.least_status = min(self.least_status, observer.least_status)

    def remove(self, observer: ApiObserver) -> None:
        """Remove an observer."""
        self.all = [left for left in self.all if left is not observer]
        self.least_status = min((left.least_status for left in self.all), default=NOBODY)

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Notify the observers that listen for answers of this status."""
        for observer in self.all:
            if answered.answer.status >= observer.least_status:
                observer.on_answer(answered)

    def on_stray(self, stray: Stray) -> None:
        """Notify the observers of a request without a World."""
        for observer in self.all:
            observer.on_stray(stray)

    def on_judged(self, mock: Mock, permitted: Permitted) -> None:
        """Notify the observers that a World is judged."""
        for observer in self.all:
            observer.on_judged(mock, permitted)

    def on_opened(self, world: World) -> None:
        """Notify the observers of a new World."""
        for observer in self.all:
            observer.on_opened(world)

    def on_changed(self, world: World, what: str) -> None:
        """Notify the observers that a World has changed."""
        for observer in self.all:
            observer.on_changed(world, what)

    def on_closed(self, world: World) -> None:
        """Notify the observers that a World is closed."""
        for observer in self.all:
            observer.on_closed(world)
