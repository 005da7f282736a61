"""What passes between a client and the live API: one exchange while it is under way, and all that were recorded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from harness.cassettes.format.interaction import CLIENT, Chunk, Frame, Interaction
from harness.core.errors import HarnessError
from harness.core.exchange import Answer
from harness.core.headers import HeaderPairs, normalize_headers
from harness.server.mock_api import teapot_answer


def non_retryable_answer(problem: str) -> Answer:
    """What a client is told that only its user can mend, in a form that no SDK tries again."""
    answer = teapot_answer(HarnessError(problem))
    return answer._replace(headers={"content-type": "application/json", **answer.headers})


@dataclass(slots=True)
class InFlightInteraction:
    """An exchange under way: its `number`, what was `sent`, what has come so far. It is `cut` until its end has come."""

    number: int
    request: Interaction
    began: float = 0.0
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    cut: bool = True

    def start_answer(self, status: int, headers: HeaderPairs, reason: str = "") -> None:
        """The head of an answer has come."""
        self.status, self.headers, self.reason = status, normalize_headers(headers), reason

    def add_chunk(self, data: bytes) -> None:
        """A piece of the answer has come."""
        self.chunks.append((time.perf_counter() - self.began, data))

    def add_frame(self, side: str, text: str) -> None:
        """A message has come over a WebSocket, from `client` or `server`."""
        self.frames.append((time.perf_counter() - self.began, side, text))

    @property
    def interaction(self) -> Interaction | None:
        """What was recorded; None when nothing was answered."""
        if not self.status:
            return None
        return replace(
            self.request,
            status=self.status,
            answer_headers=self.headers,
            chunks=tuple(self.chunks),
            frames=tuple(self.frames),
            cut=self.cut,
            reason=self.reason,
        )


class InteractionObserver(Protocol):
    """Who looks on."""

    async def before_send(self, number: int, sent: Interaction) -> None:
        """A request is about to be sent; the take has no answer yet."""

    def after_interaction(self, number: int, take: Interaction | None) -> None:
        """An exchange has ended; None when nothing was answered."""


class Recording:
    """What has passed: `takes` in the order in which they began, `problems` of reaching the API and how often each.

    Once it is interrupted only what still comes to its end counts.
    """

    def __init__(self, watch: InteractionObserver | None = None) -> None:
        self.problems: Counter[str] = Counter()
        self._observer = watch
        self._begun = 0
        self._interrupted = False
        self._interactions: dict[int, Interaction] = {}
        self._open: dict[int, InFlightInteraction] = {}

    @property
    def interactions(self) -> list[Interaction]:
        """The exchanges that have ended."""
        return [self._interactions[number] for number in sorted(self._interactions)]

    @property
    def interactions_so_far(self) -> list[Interaction]:
        """The same, and as cut what is still under way."""
        begun = {number: take for number, under in [*self._open.items()] if (take := under.interaction)}
        known = {**begun, **self._interactions}
        return [known[number] for number in sorted(known)]

    async def begin_interaction(self, sent: Interaction) -> InFlightInteraction:
        """A request is about to be sent."""
        self._begun += 1
        under = self._open[self._begun] = InFlightInteraction(self._begun, sent)
        if self._observer:
            await self._observer.before_send(under.number, sent)
        under.began = time.perf_counter()
        return under

    async def add_client_message(self, under: InFlightInteraction, text: str) -> None:
        """A message is about to be sent over a WebSocket."""
        under.add_frame(CLIENT, text)
        if self._observer:
            await self._observer.before_send(under.number, replace(under.request, frames=(under.frames[-1],)))

    def end_interaction(self, under: InFlightInteraction) -> None:
        """An exchange has ended."""
        del self._open[under.number]
        take = under.interaction
        if self._interrupted and under.cut:
            return
        if take:
            self._interactions[under.number] = take
        if self._observer:
            self._observer.after_interaction(under.number, take)

    def note_problem(self, problem: str) -> None:
        """Something stood between a client and the API; an interruption of the recording is none of these."""
        if not self._interrupted:
            self.problems[problem] += 1

    def interrupt(self) -> None:
        """Take nothing more that is cut: it is not the API that cuts it."""
        self._interrupted = True
