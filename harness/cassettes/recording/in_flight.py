"""What passes between a client and the live API: one exchange while it is under way, and all that were recorded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from harness.cassettes.format.interaction import CLIENT, Chunk, Frame, Take
from harness.core.errors import HarnessError
from harness.core.exchange import Answer
from harness.server.mock_api import teapot_answer

Pairs = Sequence[tuple[str, str]]


def pairs(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Headers as texts, their names in lower case."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]


def packed(headers: Pairs) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def joined(headers: Pairs) -> dict[str, str]:
    """Headers by name, those of one name as one."""
    found: dict[str, str] = {}
    for name, value in headers:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def told(problem: str) -> Answer:
    """What a client is told that only its user can mend, in a form that no SDK tries again."""
    answer = teapot_answer(HarnessError(problem))
    return answer._replace(headers={"content-type": "application/json", **answer.headers})


@dataclass(slots=True)
class Passage:
    """An exchange under way: its `number`, what was `sent`, what has come so far. It is `cut` until its end has come."""

    number: int
    sent: Take
    began: float = 0.0
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    cut: bool = True

    def answers(self, status: int, headers: Pairs, reason: str = "") -> None:
        """The head of an answer has come."""
        self.status, self.headers, self.reason = status, joined(headers), reason

    def chunk(self, data: bytes) -> None:
        """A piece of the answer has come."""
        self.chunks.append((time.perf_counter() - self.began, data))

    def frame(self, side: str, text: str) -> None:
        """A message has come over a WebSocket, from `client` or `server`."""
        self.frames.append((time.perf_counter() - self.began, side, text))

    @property
    def take(self) -> Take | None:
        """What was recorded; None when nothing was answered."""
        if not self.status:
            return None
        return replace(
            self.sent,
            status=self.status,
            answer_headers=self.headers,
            chunks=tuple(self.chunks),
            frames=tuple(self.frames),
            cut=self.cut,
            reason=self.reason,
        )


class Watch(Protocol):
    """Who looks on."""

    async def before(self, number: int, sent: Take) -> None:
        """A request is about to be sent; the take has no answer yet."""

    def after(self, number: int, take: Take | None) -> None:
        """An exchange has ended; None when nothing was answered."""


class Recording:
    """What has passed: `takes` in the order in which they began, `problems` of reaching the API and how often each.

    Once it is interrupted only what still comes to its end counts.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.problems: Counter[str] = Counter()
        self._watch = watch
        self._begun = 0
        self._interrupted = False
        self._takes: dict[int, Take] = {}
        self._open: dict[int, Passage] = {}

    @property
    def takes(self) -> list[Take]:
        """The exchanges that have ended."""
        return [self._takes[number] for number in sorted(self._takes)]

    @property
    def so_far(self) -> list[Take]:
        """The same, and as cut what is still under way."""
        begun = {number: take for number, under in [*self._open.items()] if (take := under.take)}
        known = {**begun, **self._takes}
        return [known[number] for number in sorted(known)]

    async def begin(self, sent: Take) -> Passage:
        """A request is about to be sent."""
        self._begun += 1
        under = self._open[self._begun] = Passage(self._begun, sent)
        if self._watch:
            await self._watch.before(under.number, sent)
        under.began = time.perf_counter()
        return under

    async def says(self, under: Passage, text: str) -> None:
        """A message is about to be sent over a WebSocket."""
        under.frame(CLIENT, text)
        if self._watch:
            await self._watch.before(under.number, replace(under.sent, frames=(under.frames[-1],)))

    def keep(self, under: Passage) -> None:
        """An exchange has ended."""
        del self._open[under.number]
        take = under.take
        if self._interrupted and under.cut:
            return
        if take:
            self._takes[under.number] = take
        if self._watch:
            self._watch.after(under.number, take)

    def fail(self, problem: str) -> None:
        """Something stood between a client and the API; an interruption of the recording is none of these."""
        if not self._interrupted:
            self.problems[problem] += 1

    def interrupt(self) -> None:
        """Take nothing more that is cut: it is not the API that cuts it."""
        self._interrupted = True
