"""Requests that come again, byte for byte: what they are and that they are taken is found out once.

A World is a party to that only by its account, models, day and own contract, and by which of its tables are empty, as long
as no rule has read anything else of it; a request about which one has is checked each time. Load tests and retries send
most requests again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import fields
from typing import Any, Literal, NamedTuple, TypeVar

from harness.api.http.dialects import OPENAI
from harness.contract.check import check
from harness.core.exchange import Request
from harness.core.limits import RepeatCache
from harness.server.api_key import bearer_key
from harness.world.store import Store
from harness.world.world import World

T = TypeVar("T")

OPERATIONS = frozenset({"POST /responses"})
"""The operations whose requests are kept: those that are sent again and again."""
MAX_SIZE = 64 * 1024
"""Bytes of the longest body that is kept."""
_RAW = Request._fields.index("raw")


class KeptRequest(NamedTuple):
    """A request that its World has taken, the key in its headers, and the facts of the World that this depends on.

    `head` and `tail` are what stands before and after the bytes of the request as the journal has it. `filled` says of
    tables of the store, by their names, whether they hold anything.
    """

    request: Request
    head: tuple[Any, ...]
    tail: tuple[Any, ...]
    key: str
    facts: tuple[object, ...]
    filled: tuple[tuple[str, bool], ...]

    def holds_in(self, world: World) -> bool:
        """Whether this World takes the request, too."""
        if self.facts != _facts_of(world):
            return False
        return not self.filled or all(bool(getattr(world.store, name)) is is_filled for name, is_filled in self.filled)

    def repeat(self, raw: bytes) -> Request:
        """The request as it came now: an object of its own, for a journal tells requests apart."""
        return Request._make((*self.head, raw, *self.tail))


class RepeatedRequests:
    """The requests of one server that came more than once, by path, key and body."""

    def __init__(self) -> None:
        self._kept: RepeatCache[tuple[str, str, bytes], KeptRequest | Literal[False]] = RepeatCache()

    def find(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any], raw: bytes) -> KeptRequest | None:
        """The entry of a request that came before."""
        kept = self._kept.get((path, headers.get("authorization", ""), raw))
        if not kept or kept.request.query != query:
            return None
        return kept if kept.request.headers is headers or kept.request.headers == headers else None

    def note(self, path: str, request: Request, world: World) -> None:
        """Keep a request that was taken, if it came before and nothing but itself decided about it."""
        if request.operation not in OPERATIONS or request.dialect != OPENAI or len(request.raw) > MAX_SIZE:
            return
        place = path, request.headers.get("authorization", ""), request.raw
        if self._kept.has_seen(place) and self._kept.get(place) is not False:
            self._kept.put(place, _judge(request, world), len(request.raw))


def _judge(request: Request, world: World) -> KeptRequest | Literal[False]:
    """The entry of a request; False if something stored decides about it."""
    watched = _WatchedWorld(world)
    if world.own_contract is not None or check(request, watched) is not None or watched.was_read:
        return False
    key, filled = bearer_key(request.headers) or "", tuple(watched.filled.items())
    return KeptRequest(request._replace(kept={}), request[:_RAW], request[_RAW + 1 :], key, _facts_of(world), filled)


def _facts_of(world: World) -> tuple[object, ...]:
    """All of a World that decides about a request for which nothing stored is read."""
    return world.account, world.models, world.own_contract, world.as_of, world.dialect


class _WatchedWorld:
    """A World that notes when something is read of it that may change with any request, and which tables are asked for.

    `was_read` says that something was; `filled` has the tables that were only asked whether they hold anything.
    """

    def __init__(self, world: World) -> None:
        self.account, self.models, self.own_contract, self.as_of, self.dialect = _facts_of(world)
        self.was_read = False
        self.filled: dict[str, bool] = {}
        names = [each.name for each in fields(Store)]
        self.store = Store(**{name: _WatchedTable(name, getattr(world.store, name), self) for name in names})
        self._world = world

    def __getattr__(self, name: str) -> Any:
        self.was_read = True
        return getattr(self._world, name)


class _WatchedTable(MutableMapping[str, T]):
    """A table of the store, of which each reading is noted; a rule writes nothing."""

    def __init__(self, name: str, table: Mapping[str, T], world: _WatchedWorld) -> None:
        self._name = name
        self._table = table
        self._world = world

    def __bool__(self) -> bool:
        return self._world.filled.setdefault(self._name, bool(self._table))

    def __getitem__(self, id: str) -> T:
        self._world.was_read = True
        return self._table[id]

    def __iter__(self) -> Iterator[str]:
        self._world.was_read = True
        return iter(self._table)

    def __len__(self) -> int:
        self._world.was_read = True
        return len(self._table)

    def __setitem__(self, id: str, value: T) -> None:
        raise TypeError("a rule reads what is stored, it does not change it")

    def __delitem__(self, id: str) -> None:
        raise TypeError("a rule reads what is stored, it does not change it")
