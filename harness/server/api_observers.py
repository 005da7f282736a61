"""Observers of a mock: they are notified of each answer, of requests without a World, of Worlds judged or closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from harness.core.exchange import Answer, ReceivedRequest, Stray

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.report.judge_world import Permitted
    from harness.world.mock import Mock
    from harness.world.world import World


NOBODY = 1_000
"""A status above that of every answer: an observer with it hears of none."""


class AnsweredRequest(NamedTuple):
    """A request with its answer, begun at `begun` (`perf_counter`).

    `operation` is empty when it follows from method and path. `is_lost` means that the request reached no World because
    the store that holds it was unreachable. If the request has a `world`, the journal of that World holds the exchange
    with this answer.
    """

    begun: float
    received: ReceivedRequest
    answer: Answer
    operation: str = ""
    is_lost: bool = False
    world: World | None = None


class ApiObserver:
    """Hears what a mock does, in the thread that does it; a subclass overrides the methods of interest.

    Only answers whose status is at least `least_status` are reported to it, by default none.
    """

    least_status = NOBODY

    def on_answer(self, answered: AnsweredRequest) -> None:
        """Hear of an answer before it is sent; over a WebSocket, once for each event of the client."""

    def on_stray(self, stray: Stray) -> None:
        """Hear of an API request whose key leads to no World."""

    def on_judged(self, mock: Mock, permitted: Permitted) -> None:
        """Hear that a World is being judged over HTTP, and what that judgement permits."""

    def on_opened(self, world: World) -> None:
        """Hear of a new World."""

    def on_changed(self, world: World, what: str) -> None:
        """Hear of a World changed by a control request; `what` is the last part of the path, such as `script`."""

    def on_closed(self, world: World) -> None:
        """Hear of a World that is about to be forgotten."""


class StrayObserver(ApiObserver):
    """Passes on each request without a World."""

    def __init__(self, note: Callable[[Stray], None]) -> None:
        self._note = note

    def on_stray(self, stray: Stray) -> None:
        """Pass on a request."""
        self._note(stray)


def _tell_all(name: str) -> Any:
    def tell(self: ApiObservers, *heard: Any) -> None:
        for observer in self.all:
            getattr(observer, name)(*heard)

    return tell


class ApiObservers(ApiObserver):
    """The observers of a mock, called one after the other in the order in which they were added."""

    def __init__(self) -> None:
        self.all: list[ApiObserver] = []

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

    on_stray, on_judged, on_opened, on_changed, on_closed = map(
        _tell_all, ("on_stray", "on_judged", "on_opened", "on_changed", "on_closed")
    )
