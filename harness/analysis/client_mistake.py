"""Mistakes of a client or of a webhook receiver: what they do wrong although the API accepts it, and the evidence.

A mistake is a generator function of what was observed, which yields facts; `mistake` adds the message, the fix, the
source and the examples. The function's name with hyphens is the id of the mistake. Its facts may also say when it `came`
and whether it is `certain`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from harness.analysis.retries import Retry, chains_of, find_retries
from harness.core.cached import cached_property
from harness.core.delivery import SendTimes
from harness.core.errors import ConfigError, RegistrationError
from harness.core.exchange import Exchange
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


def check_mistakes(ids: Sequence[str], where: str) -> None:
    """Raise ConfigError for an id that is not in `CLIENT_MISTAKES`."""
    for id in ids:
        if id not in CLIENT_MISTAKES:
            raise ConfigError(f"{where}({id!r}): no such client mistake. {suggest_name(id, CLIENT_MISTAKES)}")


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
