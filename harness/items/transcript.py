"""The items of a conversation: the stored chain, and the transcript of a request, which is the model's input.

Every client-executed call in a transcript needs an output and vice versa; ids must be unique. A chain caches its facts,
so that a turn only costs its new items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.api.tokens import estimate_tokens
from harness.core.cached import cached_property
from harness.core.exchange import Json
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES

CallKey = tuple[str, str]
"""A call's type and `call_id`."""
KeyedCall = tuple[CallKey, Json]
"""A call, after its key."""
SEARCH_CALL = "tool_search_call"
APPROVAL_REQUEST, APPROVAL_RESPONSE = "mcp_approval_request", "mcp_approval_response"


class ChainFacts(NamedTuple):
    """The totals of a chain: estimated tokens, the types in it ('' for none), and the calls that may be answered.

    `is_paired` says that each output followed its call, which is so unless a client sends its history in another order.
    """

    tokens: int = 0
    types: frozenset[str] = frozenset()
    open_calls: Sequence[KeyedCall] = ()
    is_paired: bool = True

    def extend(self, items: Sequence[Json]) -> ChainFacts:
        """Return the facts extended by more items at the end."""
        types = frozenset(item.get("type") or "" for item in items)
        calls, outputs = self._collect_new_calls(items), collect_outputs(items)
        open_calls, uncalled = (
            pair_outputs([*self.open_calls, *calls], outputs) if calls or outputs else (self.open_calls, ())
        )
        return ChainFacts(
            self.tokens + estimate_tokens(items),
            self.types if types <= self.types else self.types | types,
            open_calls,
            self.is_paired and not uncalled,
        )

    def _collect_new_calls(self, items: Sequence[Json]) -> list[KeyedCall]:
        """Return the calls among further items, except open calls that a client repeats before their outputs."""
        calls, open_keys = collect_calls(items), {key for key, _ in self.open_calls}
        if open_keys.isdisjoint(key for key, _ in calls):
            return calls
        new: list[KeyedCall] = []
        for item in items:
            new += (call for call in collect_calls([item]) if call[0] not in open_keys)
            open_keys.difference_update(collect_outputs([item]))
        return new


class Boundary(NamedTuple):
    """A place in a chain up to which a prompt can be cached: a digest of all before it, and its estimated tokens.

    `ttl` is the lifetime that a client's breakpoint gives ('' for the request's), None without one. `is_end` says that a
    message of the client or an output ends here, `is_opening` that all items so far are instructions.
    """

    digest: int
    tokens: int
    ttl: str | None = None
    is_end: bool = False
    is_opening: bool = True


class ItemChain:
    """An immutable list of items: those of the `previous` chain, then the chain's `own`.

    A chain of n responses thus costs only their own items, and outlives the responses that it passes through. Its
    `boundaries` are those of its own items, once the prompt cache has looked for them.
    """

    __slots__ = ("_facts", "boundaries", "own", "previous")

    def __init__(self, own: Sequence[Json] = (), previous: ItemChain | None = None) -> None:
        self.own = own
        self.previous = previous
        self.boundaries: Sequence[Boundary] | None = None
        self._facts: ChainFacts | None = None

    def __iter__(self) -> Iterator[Json]:
        links = []  # no recursion: a conversation may have more links than Python has frames
        link: ItemChain | None = self
        while link is not None:
            links.append(link.own)
            link = link.previous
        items: list[Json] = []
        for added in reversed(links):
            items += added
        return iter(items)

    def extend(self, *items: Json) -> ItemChain:
        """Return a chain with more items at the end."""
        return ItemChain(items, self)

    @property
    def facts(self) -> ChainFacts:
        """The facts of all items; only links without cached facts are visited."""
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


def collect_calls(items: Iterable[Json]) -> list[KeyedCall]:
    """Return the client-executed calls, in order."""
    calls = []
    for item in items:
        kind = item.get("type", "")
        if kind in CLIENT_CALL_NAMES and item.get("call_id") and item.get("execution") != "server":
            calls.append(((kind, item["call_id"]), item))
    return calls


def collect_outputs(items: Iterable[Json]) -> list[CallKey]:
    """Return the keys of the calls that output items answer, in order; an output without `call_id` answers none."""
    outputs = []
    for item in items:
        kind = item.get("type", "")
        if kind in CALL_OF_OUTPUT and item.get("execution") != "server" and (call_id := answered_call_id(item)):
            outputs.append((CALL_OF_OUTPUT[kind], call_id))
    return outputs


def pair_outputs(
    calls: Sequence[KeyedCall], outputs: Sequence[CallKey]
) -> tuple[Sequence[KeyedCall], Sequence[CallKey]]:
    """Pair outputs with calls one by one: return the calls that may still be answered, and the outputs without a call.

    An asynchronous call is answered at once with a note, and later with its result. A function's output also answers a
    tool search of the client (recorded of gpt-5.6, 2026-07).
    """
    if not outputs:
        return calls, ()
    waiting: dict[CallKey, int] = {}
    lasting = {key for key, call in calls if call.get("async")}
    for key, _ in calls:
        waiting[key] = waiting.get(key, 0) + 1
    answered: dict[CallKey, int] = {}
    uncalled = []
    for kind, id in outputs:
        search = (SEARCH_CALL, id)
        key = search if kind == "function_call" and not waiting.get((kind, id)) and waiting.get(search) else (kind, id)
        if key in lasting:
            continue
        if waiting.get(key):
            waiting[key] -= 1
            answered[key] = answered.get(key, 0) + 1
        else:
            uncalled.append(key)
    open_calls = []
    for key, call in calls:
        if answered.get(key):
            answered[key] -= 1
        else:
            open_calls.append((key, call))
    return open_calls, uncalled


def answered_call_id(output: Json) -> str | None:
    """Return the `call_id` that an output answers, which is the `id` in `local_shell_call_output`."""
    call_id = output.get("call_id") or (output.get("id") if output["type"] == "local_shell_call_output" else None)
    return call_id if isinstance(call_id, str) else None


@dataclass(eq=False)
class Transcript:
    """Items that are `stored`, then those `added` by the request, with references resolved.

    `missing_references` holds the ids of `item_reference`s that this key has not stored.
    """

    stored: ItemChain
    added: Sequence[Json]
    missing_references: tuple[str, ...] = ()

    @cached_property
    def items(self) -> Sequence[Json]:
        """All items in order; as long as the chain, so only for code that needs every item."""
        return [*self.stored, *self.added]

    @cached_property
    def added_by_type(self) -> Mapping[str, Sequence[Json]]:
        """The request's own items by type, in order; messages without a type have the type ''."""
        found: dict[str, list[Json]] = {}
        for item in self.added:
            kind = item.get("type") or ""
            if kind in found:
                found[kind].append(item)
            else:
                found[kind] = [item]
        return found

    @property
    def types(self) -> Set[str]:
        """The types of all items."""
        stored = self.stored.facts.types
        return self.added_by_type.keys() | stored if stored else self.added_by_type.keys()

    @property
    def tokens(self) -> int:
        """The estimated tokens of all items."""
        return self.stored.facts.tokens + estimate_tokens(self.added)

    def items_from_first(self, *types: str) -> Sequence[Json]:
        """Return all items if one of these types is stored, else only the request's: enough to find such items."""
        return self.added if self.stored.facts.types.isdisjoint(types) else self.items

    def items_of(self, kind: str) -> Sequence[Json]:
        """Return all items of a type, in order."""
        if kind in self.stored.facts.types:
            return [item for item in self.items if item.get("type") == kind]
        return self.added_by_type.get(kind, ())

    @cached_property
    def that_may_load_tools(self) -> Sequence[Json]:
        """Items that include all that load tools: all items if a stored one does, else only the request's."""
        return self.items_from_first("tool_search_output")

    @property
    def unanswered_calls(self) -> Sequence[CallKey]:
        """The calls that need an output but have none, in order; those with `async` need none."""
        return [key for key, call in self._unpaired[0] if not call.get("async")]

    @property
    def uncalled_outputs(self) -> Sequence[CallKey]:
        """The missing calls that outputs answer, in order."""
        return self._unpaired[1]

    @cached_property
    def _unpaired(self) -> tuple[Sequence[KeyedCall], Sequence[CallKey]]:
        """The calls without output and the outputs without call, of the request and the calls that it may answer."""
        facts = self.stored.facts
        sent, outputs = (
            collect_calls(self._added_in(CLIENT_CALL_NAMES)),
            collect_outputs(self._added_in(CALL_OF_OUTPUT)),
        )
        stored = facts.open_calls
        if not facts.is_paired:
            items = [*self.stored]
            stored, outputs = collect_calls(items), [*collect_outputs(items), *outputs]
        # A client may send the call again that it answers; to the API it is the stored one.
        open_keys = {key for key, _ in facts.open_calls}
        return pair_outputs([*stored, *(call for call in sent if call[0] not in open_keys)], outputs)

    def _added_in(self, kinds: Mapping[str, str]) -> Sequence[Json]:
        """Return the request's items of these types, in order."""
        found = self.added_by_type.keys() & kinds.keys()
        if len(found) > 1:
            return [item for item in self.added if item.get("type") in kinds]
        return self.added_by_type[found.pop()] if found else ()


def input_items(body: Json) -> list[Json]:
    """Return `input` as items; a string is one user message."""
    input = body.get("input")
    if isinstance(input, str):
        return [{"type": "message", "role": "user", "content": input}]
    return input if isinstance(input, list) else []


def resolve_transcript(stored: ItemChain, body: Json, items: Mapping[str, Json]) -> Transcript:
    """Resolve the transcript of a request: stored items, then its own, with references replaced by stored items."""
    given = input_items(body)
    references = find_references(given)
    if not references:
        return Transcript(stored, given)
    named = {id(item) for item in references}
    read = [items.get(_referenced_id(item)) if id(item) in named else item for item in given]
    missing = [name for item in references if (name := _referenced_id(item)) not in items]
    return Transcript(stored, [item for item in read if item is not None], tuple(missing))


def find_references(given: Sequence[Json]) -> list[Json]:
    """Return the items that refer to stored ones; their type may be absent."""
    return [
        item
        for item in given
        if (kind := item.get("type")) == "item_reference" or (kind is None and "role" not in item and "id" in item)
    ]


def _referenced_id(reference: Json) -> str:
    return str(reference.get("id", ""))


def conversation_id(body: Mapping[str, Any]) -> str | None:
    """Return the id of a request's conversation, given as a string or `{"id": …}`."""
    if (named := body.get("conversation")) is None:
        return None
    if isinstance(named, dict):
        named = named.get("id")
    return named if isinstance(named, str) else None
