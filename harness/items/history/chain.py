"""The items before a request as a chain that keeps its facts, so that a turn costs only new items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES

CallKey = tuple[str, str]
"""A call's type and `call_id`."""


SEARCH_CALL = "tool_search_call"


class ChainFacts(NamedTuple):
    """What a chain adds up to: estimated tokens, the types in it ('' for none), and the calls without an output.

    `is_paired` says that each output followed its call, as it does unless a client sends its history in another order.
    """

    tokens: int = 0
    types: frozenset[str] = frozenset()
    open_calls: Mapping[CallKey, Json] = {}
    is_paired: bool = True

    def extend(self, items: Sequence[Json]) -> ChainFacts:
        """Return the facts with those of more items at the end."""
        types = frozenset(item.get("type") or "" for item in items)
        calls, outputs = collect_calls(items), collect_outputs(items)
        known = {**self.open_calls, **calls} if calls or outputs else self.open_calls
        answered = pair_outputs(outputs, known)
        return ChainFacts(
            self.tokens + estimate_tokens(items),
            self.types if types <= self.types else self.types | types,
            {key: call for key, call in known.items() if key not in answered} if answered else known,
            self.is_paired and all(key in known for key in answered),
        )


class ItemChain:
    """Items in order: those of the `previous` chain, then the chain's `own`.

    A chain of n responses so costs n times its own items, and outlives the responses that it goes through. It never changes.
    """

    __slots__ = ("_facts", "own", "previous")

    def __init__(self, own: Sequence[Json] = (), previous: ItemChain | None = None) -> None:
        self.own = own
        self.previous = previous
        self._facts: ChainFacts | None = None

    def __iter__(self) -> Iterator[Json]:
        links = []
        link: ItemChain | None = self
        while link is not None:
            links.append(link.own)
            link = link.previous
        items: list[Json] = []
        for added in reversed(links):
            items += added
        return iter(items)

    def extend(self, *items: Json) -> ItemChain:
        """Return a chain with more items at the end; this chain stays as it is."""
        return ItemChain(items, self)

    @property
    def facts(self) -> ChainFacts:
        """The facts of all items; only links that were not asked before are walked."""
        if self._facts is not None:
            return self._facts
        links = []
        link: ItemChain | None = self
        while link is not None and link._facts is None:
            links.append(link)
            link = link.previous
        facts = (link and link._facts) or ChainFacts()
        for unasked in reversed(links):
            facts = unasked._facts = facts.extend(unasked.own)
        return facts


EMPTY_CHAIN = ItemChain()


def collect_calls(items: Iterable[Json]) -> dict[CallKey, Json]:
    """Collect the client-executed calls by kind and `call_id`."""
    return {
        (kind, item["call_id"]): item
        for item in items
        if (kind := item.get("type", "")) in CLIENT_CALL_NAMES
        and item.get("call_id")
        and item.get("execution") != "server"
    }


def collect_outputs(items: Iterable[Json]) -> dict[CallKey, None]:
    """Collect for each output item the call that it answers, in order; an output without `call_id` answers none."""
    return {
        (CALL_OF_OUTPUT[kind], call_id): None
        for item in items
        if (kind := item.get("type", "")) in CALL_OF_OUTPUT
        and item.get("execution") != "server"
        and (call_id := answered_call_id(item))
    }


def pair_outputs(outputs: Mapping[CallKey, None], calls: Mapping[CallKey, Json]) -> Mapping[CallKey, None]:
    """Find which of these `calls` outputs answer: a function's output answers a tool search of the client, too.

    Recorded of gpt-5.6, 2026-07.
    """
    if not any(kind == SEARCH_CALL for kind, _ in calls):
        return outputs
    return {
        (SEARCH_CALL, id)
        if kind == "function_call" and (SEARCH_CALL, id) in calls and (kind, id) not in calls
        else (kind, id): None
        for kind, id in outputs
    }


def answered_call_id(output: Json) -> str | None:
    """Return the `call_id` that an output answers; in `local_shell_call_output` it is the `id`."""
    call_id = output.get("call_id") or (output.get("id") if output["type"] == "local_shell_call_output" else None)
    return call_id if isinstance(call_id, str) else None
