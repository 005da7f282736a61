"""The exchanges that a proxy records, finished or still in progress."""

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Protocol

from harness.cassettes.format.interaction import CLIENT, Chunk, Frame, Interaction
from harness.core.errors import HarnessError
from harness.core.exchange import Answer
from harness.core.headers import HeaderPairs, normalize_headers
from harness.server.answering import teapot_answer


def non_retryable_answer(problem: str) -> Answer:
    """Build the answer for a problem that only the user can fix, so that no SDK retries it."""
    answer = teapot_answer(HarnessError(problem))
    return answer._replace(headers={"content-type": "application/json", **answer.headers})


@dataclass(slots=True)
class InFlightInteraction:
    """Builds an interaction while it is in progress; it counts as `cut` until its end."""

    number: int
    request: Interaction
    began: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    cut: bool = True

    def start_answer(self, status: int, headers: HeaderPairs, reason: str = "") -> None:
        """Add the head of the answer."""
        self.request = replace(self.request, status=status, answer_headers=normalize_headers(headers), reason=reason)

    def add_chunk(self, data: bytes) -> None:
        """Add a chunk of the answer."""
        self.chunks.append((time.perf_counter() - self.began, data))

    def add_frame(self, side: str, text: str) -> None:
        """Add a message of a WebSocket, from `client` or `server`."""
        self.frames.append((time.perf_counter() - self.began, side, text))

    @property
    def silent_seconds(self) -> float:
        """The seconds since its last message, or since its beginning."""
        return time.perf_counter() - self.began - (self.frames[-1][0] if self.frames else 0.0)

    @property
    def interaction(self) -> Interaction | None:
        """The interaction so far; None until there is an answer."""
        if not self.request.status:
            return None
        return replace(self.request, chunks=tuple(self.chunks), frames=tuple(self.frames), cut=self.cut)


class InteractionObserver(Protocol):
    """Observes exchanges while they are recorded."""

    async def before_send(self, number: int, request: Interaction) -> None:
        """Handle a request, or a WebSocket message, that is about to be sent."""

    def after_interaction(self, number: int, interaction: Interaction | None) -> None:
        """Handle the end of an exchange; None if there was no answer."""


class Recording:
    """The `interactions` in the order of their requests, and the `problems` of reaching the API with their counts.

    After an interruption, only exchanges that are not cut are added.
    """

    def __init__(self, *observers: InteractionObserver | None) -> None:
        self.problems: Counter[str] = Counter()
        self._observers = [observer for observer in observers if observer]
        self._begun = 0
        self._interrupted = False
        self._interactions: dict[int, Interaction] = {}
        self._open: dict[int, InFlightInteraction] = {}

    @property
    def interactions(self) -> list[Interaction]:
        """The exchanges that have ended."""
        return [self._interactions[number] for number in sorted(self._interactions)]

    def in_progress(self) -> dict[int, Interaction]:
        """Return the exchanges in progress that have an answer, as far as they came, by number; they count as cut."""
        open_ones = ((number, exchange.interaction) for number, exchange in [*self._open.items()])
        return {number: interaction for number, interaction in open_ones if interaction}

    async def begin_interaction(self, request: Interaction) -> InFlightInteraction:
        """Start an exchange whose request is about to be sent."""
        self._begun += 1
        exchange = self._open[self._begun] = InFlightInteraction(self._begun, request)
        for observer in self._observers:
            await observer.before_send(exchange.number, request)
        exchange.began = time.perf_counter()
        return exchange

    async def add_client_message(self, exchange: InFlightInteraction, text: str) -> None:
        """Add a WebSocket message that is about to be sent."""
        exchange.add_frame(CLIENT, text)
        message = replace(exchange.request, frames=(exchange.frames[-1],))
        for observer in self._observers:
            await observer.before_send(exchange.number, message)

    def end_interaction(self, exchange: InFlightInteraction) -> None:
        """End an exchange."""
        del self._open[exchange.number]
        interaction = exchange.interaction
        if self._interrupted and exchange.cut:
            return
        if interaction:
            self._interactions[exchange.number] = interaction
        for observer in self._observers:
            observer.after_interaction(exchange.number, interaction)

    def note_problem(self, problem: str) -> None:
        """Count a problem between a client and the API, unless the recording was interrupted."""
        if not self._interrupted:
            self.problems[problem] += 1

    def interrupt(self) -> None:
        """From now on drop every exchange that is cut, as the interruption cut it, not the API."""
        self._interrupted = True
