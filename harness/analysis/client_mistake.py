"""Mistakes of a client in how it asks: when it asks again, how long it waits, how it reads a stream.

A mistake is a generator function of a `SeenClient` that yields facts; `@client_mistake` adds the message, the fix, the
source and examples. The function's name with hyphens is its id.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Required, TypedDict, Unpack

from harness.analysis.retries import Retry, chains_of, find_retries
from harness.core.edge import EdgeTimes
from harness.core.errors import ConfigError, RegistrationError
from harness.core.exchange import Exchange
from harness.core.registry import Registry, suggest_name

MistakeFacts = Mapping[str, Any]
"""`number`: the exchange it is about; the fields of the message, when it `came`, and `certain` if it can be no intention."""


@dataclass(frozen=True)
class SeenClient:
    """What is seen of a client: the journal, the times of the exchanges, and the numbers of those that took a turn.

    `patience` are the seconds that it may wait for an answer that does not come.
    """

    exchanges: Sequence[Exchange]
    edge: Mapping[int, EdgeTimes]
    turns: frozenset[int] = frozenset()
    patience: float = 60.0

    @cached_property
    def retries(self) -> list[Retry]:
        """The requests that were sent again after a failure."""
        return find_retries(self.exchanges, self.times)

    @cached_property
    def chains(self) -> list[list[Retry]]:
        """The retries, those of one request together."""
        return chains_of(self.retries)

    @cached_property
    def by_number(self) -> Mapping[int, Exchange]:
        """The exchanges by their number."""
        return {exchange.number: exchange for exchange in self.exchanges}

    @cached_property
    def last_about(self) -> Mapping[str, int]:
        """The number of the last exchange about each response, by its id."""
        about = ((exchange.request.params.get("response_id"), exchange.number) for exchange in self.exchanges)
        return {id: number for id, number in about if id is not None}

    @cached_property
    def timed(self) -> Sequence[tuple[Exchange, EdgeTimes]]:
        """The exchanges with their times, oldest first; without those that a test answers itself."""
        known = (exchange for exchange in self.exchanges if exchange.number in self.edge and not exchange.is_routed)
        return [(exchange, self.edge[exchange.number]) for exchange in known]

    @cached_property
    def times(self) -> Mapping[int, EdgeTimes]:
        """The times of these exchanges by their number."""
        return {exchange.number: times for exchange, times in self.timed}


MistakeCheck = Callable[[SeenClient], Iterator[MistakeFacts]]


@dataclass(frozen=True, slots=True)
class ClientMistake:
    """A mistake of a client: the id of its kind, the number of the `exchange`, the message, the fix, the source.

    `came` says when that was, where it matters. One that is `certain` can be no intention of the client; any other is looked
    for on demand.
    """

    mistake: str
    exchange: int
    message: str
    fix: str
    source: str
    came: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class MistakeKind:
    """One kind of mistake: its message with `{fact}` fields, fix, source, examples that show it and some that lack it.

    It can be `certain`, else it is only looked for on demand.
    """

    id: str
    area: str
    doc: str
    message: str
    fix: str
    source: str
    shows: tuple[SeenClient, ...]
    lacks: tuple[SeenClient, ...]
    certain: bool
    check: MistakeCheck

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, seen: SeenClient) -> Iterator[ClientMistake]:
        """Find where a client made it."""
        for facts in self.check(seen):
            message, came = self.message.format_map(facts), facts.get("came", "")
            certain = bool(facts.get("certain"))
            yield ClientMistake(self.id, facts["number"], message, self.fix, self.source, came, certain)


CLIENT_MISTAKES: Registry[MistakeKind] = Registry("mistake of a client")
"""Every mistake by id; filled by importing `harness.analysis.client_mistakes`."""


class ClientMistakeDeclaration(TypedDict, total=False):
    """Declarations beside the function of a mistake."""

    message: Required[str]
    fix: Required[str]
    source: Required[str]
    shows: Required[Sequence[SeenClient]]
    lacks: Required[Sequence[SeenClient]]
    certain: bool


def client_mistake(**words: Unpack[ClientMistakeDeclaration]) -> Callable[[MistakeCheck], MistakeCheck]:
    """Register a generator of a `SeenClient` that yields the facts of each mistake."""

    def register(check: MistakeCheck) -> MistakeCheck:
        made = MistakeKind(
            id=check.__name__.replace("_", "-"),
            area=check.__module__.rpartition(".")[2],
            doc=inspect.getdoc(check) or "",
            message=words["message"],
            fix=words["fix"],
            source=words["source"],
            shows=tuple(words["shows"]),
            lacks=tuple(words["lacks"]),
            certain=words.get("certain", False),
            check=check,
        )
        if not (made.doc and made.shows and made.lacks):
            raise RegistrationError(f"mistake {made.id} needs a docstring, and examples that show it and that lack it")
        CLIENT_MISTAKES.add(made.id, made, check.__module__)
        return check

    return register


def check_mistakes(ids: Sequence[str], where: str) -> None:
    """ConfigError for an id that no mistake of a client has."""
    for id in ids:
        if id not in CLIENT_MISTAKES:
            raise ConfigError(f"{where}({id!r}): clients make no such mistake. {suggest_name(id, CLIENT_MISTAKES)}")


def client_mistakes_of(seen: SeenClient, strict: bool = False) -> list[ClientMistake]:
    """List what a client did wrong, in the order of its requests; with `strict` also what may be intended."""
    kinds = [kind for kind in CLIENT_MISTAKES.values() if strict or kind.certain]
    found = [mistake for kind in kinds for mistake in kind.find(seen) if strict or mistake.certain]
    return sorted(found, key=lambda mistake: mistake.exchange)
