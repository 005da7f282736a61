"""Mistakes of a client or of a webhook receiver: what they do wrong although the API accepts it, and the evidence.

A mistake is a generator function of what was observed, which yields facts; `mistake` adds the message, the fix, the
source and the examples. The function's name with hyphens is the id of the mistake. Its facts may also say when it `came`
and whether it is `certain`. The building blocks of the examples are here, too: what a client sent and received, and when.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from harness.analysis.find_retries import Retry, chains_of, find_retries
from harness.core.cached import cached_property
from harness.core.delivery import DISCONNECT_AT_END, Delivery, Pause, SendTimes
from harness.core.errors import ConfigError, RegistrationError
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.core.registry import Registry, suggest_name

Seen = TypeVar("Seen")
MistakeFacts = Mapping[str, Any]
"""`number`: the exchange or delivery that made the mistake, counted from 1, and the fields of the message."""
MistakeCheck = Callable[[Seen], Iterator[MistakeFacts]]


@dataclass(frozen=True, slots=True)
class MistakeKind(Generic[Seen]):
    """A kind of mistake: its message with `{fact}` fields, its fix and source, examples with and without the mistake.

    A `certain` kind finds mistakes that may be proven unintended; any other kind is looked for only on demand.
    """

    id: str
    area: str
    doc: str
    message: str
    fix: str
    source: str
    shows: tuple[Seen, ...]
    lacks: tuple[Seen, ...]
    certain: bool
    check: MistakeCheck[Seen]

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, seen: Seen) -> Iterator[tuple[MistakeFacts, str]]:
        """Yield the facts of each such mistake, with the message that states them."""
        return ((facts, self.message.format_map(facts)) for facts in self.check(seen))


def mistake(
    registry: Registry[MistakeKind[Seen]],
    *,
    message: str,
    fix: str,
    source: str,
    shows: Sequence[Seen],
    lacks: Sequence[Seen],
    certain: bool = False,
    area: str = "",
) -> Callable[[MistakeCheck[Seen]], MistakeCheck[Seen]]:
    """Register a generator that yields the facts of each mistake; `area` defaults to the name of its module."""

    def register(check: MistakeCheck[Seen]) -> MistakeCheck[Seen]:
        id, doc = check.__name__.replace("_", "-"), inspect.getdoc(check) or ""
        if not (doc and shows and lacks):
            raise RegistrationError(f"mistake {id} needs a docstring, and examples that show it and that lack it")
        within = area or check.__module__.rpartition(".")[2]
        kind = MistakeKind(id, within, doc, message, fix, source, tuple(shows), tuple(lacks), certain, check)
        registry.add(id, kind, check.__module__)
        return check

    return register


@dataclass(frozen=True)
class SeenClient:
    """A client as observed: the journal, the times of its exchanges, and the numbers of exchanges that took a turn.

    `patience` is how many seconds the client may wait for an answer that does not come. `unread` are the streams that
    are known not to be read to their end: how many events were, by the number of the exchange.
    """

    exchanges: Sequence[Exchange]
    edge: Mapping[int, SendTimes]
    turns: frozenset[int] = frozenset()
    patience: float = 60.0
    unread: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def retries(self) -> list[Retry]:
        """The requests that were sent again after a failure."""
        return find_retries(self.exchanges, self.times)

    @cached_property
    def chains(self) -> list[list[Retry]]:
        """The retries, grouped by the request that they repeat."""
        return chains_of(self.retries)

    @cached_property
    def by_number(self) -> Mapping[int, Exchange]:
        """The exchanges by number."""
        return {exchange.number: exchange for exchange in self.exchanges}

    @cached_property
    def last_about(self) -> Mapping[str, int]:
        """The number of the last exchange that concerns a response, by the id of the response."""
        about = ((exchange.request.params.get("response_id"), exchange.number) for exchange in self.exchanges)
        return {id: number for id, number in about if id is not None}

    @cached_property
    def timed(self) -> Sequence[tuple[Exchange, SendTimes]]:
        """The exchanges with known times, oldest first, without those that the test answered itself."""
        known = (exchange for exchange in self.exchanges if exchange.number in self.edge and not exchange.is_routed)
        return [(exchange, self.edge[exchange.number]) for exchange in known]

    @cached_property
    def times(self) -> Mapping[int, SendTimes]:
        """The times of these exchanges, by the number of the exchange."""
        return {exchange.number: times for exchange, times in self.timed}


@dataclass(frozen=True, slots=True)
class ClientMistake:
    """A mistake of a client: the id of its kind, the number of the `exchange`, the message, the fix and the source.

    `came` says when it happened, where that matters. A `certain` mistake cannot be intended; all others are reported
    only on demand.
    """

    mistake: str
    exchange: int
    message: str
    fix: str
    source: str
    came: str = ""
    certain: bool = False


CLIENT_MISTAKES: Registry[MistakeKind[SeenClient]] = Registry("mistake of a client")
"""Every mistake by id; filled by importing `harness.analysis.client_mistakes`."""
client_mistake = partial(mistake, CLIENT_MISTAKES)


def check_mistakes(ids: Sequence[str]) -> None:
    """Raise ConfigError for an id of `mock.allows` that is not in `CLIENT_MISTAKES`."""
    for id in ids:
        if id not in CLIENT_MISTAKES:
            raise ConfigError(f"allows({id!r}): no such client mistake. {suggest_name(id, CLIENT_MISTAKES)}")


def client_mistakes_of(seen: SeenClient, strict: bool = False) -> list[ClientMistake]:
    """List a client's mistakes in the order of its requests; with `strict` also those that may be intended."""
    kinds = [kind for kind in CLIENT_MISTAKES.values() if strict or kind.certain]
    made = [
        ClientMistake(
            kind.id, facts["number"], message, kind.fix, kind.source, facts.get("came", ""), bool(facts.get("certain"))
        )
        for kind in kinds
        for facts, message in kind.find(seen)
    ]
    return sorted((mistake for mistake in made if strict or mistake.certain), key=lambda mistake: mistake.exchange)


BEGIN = 100.0
"""The second from which the times of examples count."""
_RESPONSE = {"id": "resp_1", "object": "response", "status": "in_progress"}


class Sending(NamedTuple):
    """A request that arrived `at` seconds after `BEGIN`, its answer, and how much of the answer was sent."""

    at: float
    answer: Answer
    body: Json | None = None
    path: str = "/responses"
    query: Json | None = None
    headers: Json | None = None
    lasts: float = 0.01
    sent: int | None = None
    left: float | None = None
    read: int | None = None
    turn: bool = True


OK = Answer(200, {"id": "resp_1", "object": "response", "status": "completed"})


def refused(
    status: int, code: str | None = None, param: str | None = None, *, type: str | None = None, **headers: str
) -> Answer:
    """Build a refusal; `retry_after="2"` sets the header `retry-after`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": "No.", "type": type, "code": code, "param": param}}, named)


def streamed(count: int = 5, *, cut: bool = False, ended: bool = True, first: int = 0) -> Answer:
    """Build a stream of `count` events, sent from number `first` on; `cut` by the server, or not `ended` properly."""
    kinds = ["response.created"] + ["response.output_text.delta"] * (count - 2) + ["response.completed"]
    events: list[Json] = [
        {"type": kind, "sequence_number": number, "response": _RESPONSE} for number, kind in enumerate(kinds)
    ][first:]
    kept = events if ended and not cut else events[:-1]
    return Answer(200, _RESPONSE, events=kept, delivery=DISCONNECT_AT_END if cut else None)


def stalled(seconds: float, answer: Answer = OK) -> Answer:
    """Build an answer that begins after a delay of `seconds`."""
    return answer._replace(delivery=Delivery([Pause(seconds, after=0)]))


def seen(*sent: Sending | Answer, patience: float = 60.0) -> SeenClient:
    """Build the evidence of a client that sent these requests, for an answer alone a second after the one before."""
    rows = [Sending(second, row) if isinstance(row, Answer) else row for second, row in enumerate(sent)]
    exchanges = [_exchange(number, row) for number, row in enumerate(rows, 1)]
    edge = {number: _times(row) for number, row in enumerate(rows, 1)}
    turns = frozenset(number for number, row in enumerate(rows, 1) if row.turn and row.path == "/responses")
    unread = {number: row.read for number, row in enumerate(rows, 1) if row.read is not None}
    return SeenClient(exchanges, edge, turns, patience, unread)


def _exchange(number: int, row: Sending) -> Exchange:
    parts: Sequence[str] = row.path.strip("/").split("/")
    params = {"response_id": parts[1]} if len(parts) > 1 else {}
    method = "GET" if len(parts) == 2 else "POST"
    body: Any = {"model": "gpt-4.1", "input": "hi"} | (row.body or {}) if row.path == "/responses" else row.body
    raw = orjson.dumps(body) if method == "POST" else b""
    template = row.path.replace(parts[1], "{response_id}") if params else row.path
    request = Request(method, row.path, row.headers or {}, row.query or {}, body, raw, params, f"{method} {template}")
    return Exchange(number, request, row.answer)


def _times(row: Sending) -> SendTimes:
    arrived, answer = BEGIN + row.at, row.answer
    last = arrived + (row.lasts if row.left is None else row.left)
    count = None if answer.events is None else len(answer.events)
    events = count if row.sent is None else row.sent
    whole = row.left is None and not answer.disconnection
    begun = answer.status > 0 and events != 0
    return SendTimes(
        arrived, last if begun else None, last if begun else None, events, 0, row.left, 1, whole=whole, ended=True
    )
