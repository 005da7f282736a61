"""The resolved transcript: the input of the model, from the chain or conversation to the last input item.

Every client-executed call in it needs an output, and the reverse; an id may occur once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.items.history.chain import CallKey, ItemChain, collect_calls, collect_outputs, pair_outputs
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES


@dataclass(frozen=True)
class Transcript:
    """Items that are `stored`, then those `added` by the request (references resolved).

    `missing_references` are the ids of `item_reference`s that this key has not stored.
    """

    stored: ItemChain
    added: Sequence[Json]
    missing_references: tuple[str, ...] = ()

    @cached_property
    def items(self) -> Sequence[Json]:
        """All items in order: as long as the chain, so only for what needs them all."""
        return [*self.stored, *self.added]

    @cached_property
    def added_by_type(self) -> Mapping[str, Sequence[Json]]:
        """The items of the request itself by type, in order; messages without a type have the type ''."""
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
        return self.added_by_type.keys() | self.stored.facts.types

    @property
    def effort(self) -> str | None:
        """The effort that the last `configuration_update` of the request sets; None without one."""
        updates = self.added_by_type.get("configuration_update") or ({},)
        effort: str | None = (updates[-1].get("reasoning") or {}).get("effort")
        return effort

    @property
    def tokens(self) -> int:
        """The estimated tokens of all items."""
        return self.stored.facts.tokens + estimate_tokens(self.added)

    def items_from_first(self, *types: str) -> Sequence[Json]:
        """Return all items when one of these types is stored, else only the request's: enough to find such items."""
        return self.added if self.stored.facts.types.isdisjoint(types) else self.items

    def items_of(self, kind: str) -> Sequence[Json]:
        """Return all items of a type, in order."""
        if kind in self.stored.facts.types:
            return [item for item in self.items if item.get("type") == kind]
        return self.added_by_type.get(kind, ())

    @cached_property
    def unanswered_calls(self) -> Sequence[CallKey]:
        """The calls that need an output and have none, in order; those with `async` need none."""
        calls = self._recent_calls
        answered = self._recent_answers
        if all(key in answered or call.get("async") for key, call in calls.items()):
            return ()
        calls = collect_calls(self.items)
        answered = pair_outputs(collect_outputs(self.items), calls)
        return [key for key, call in calls.items() if key not in answered and not call.get("async")]

    @cached_property
    def uncalled_outputs(self) -> Sequence[CallKey]:
        """The calls that outputs answer and that are not there, in order."""
        calls = self._recent_calls
        if self.stored.facts.is_paired and all(key in calls for key in self._recent_answers):
            return ()
        calls = collect_calls(self.items)
        return [key for key in pair_outputs(collect_outputs(self.items), calls) if key not in calls]

    @cached_property
    def _recent_calls(self) -> Mapping[CallKey, Json]:
        """The calls that the request may answer: open calls in stored items, and the request's own calls."""
        return {**self.stored.facts.open_calls, **collect_calls(self._added_in(CLIENT_CALL_NAMES))}

    @cached_property
    def _recent_answers(self) -> Mapping[CallKey, None]:
        """The calls that the outputs of the request answer, whether these are there or not."""
        return pair_outputs(collect_outputs(self._added_in(CALL_OF_OUTPUT)), self._recent_calls)

    def _added_in(self, kinds: Mapping[str, str]) -> Sequence[Json]:
        """Return the items of the request whose type is one of these, in order."""
        groups = [items for kind, items in self.added_by_type.items() if kind in kinds]
        if len(groups) > 1:
            return [item for item in self.added if item.get("type") in kinds]
        return groups[0] if groups else ()


def input_items(body: Json) -> list[Json]:
    """`input` as items: a string is one user message."""
    input = body.get("input")
    if isinstance(input, str):
        return [{"type": "message", "role": "user", "content": input}]
    return input if isinstance(input, list) else []


def resolve_transcript(stored: ItemChain, body: Json, items: Mapping[str, Json]) -> Transcript:
    """Resolve the transcript of a request: stored items first, then its own; stored items stand in place of references."""
    given = input_items(body)
    references = find_references(given) if given is body.get("input") else ()
    if not references:
        return Transcript(stored, given)
    named = {id(item) for item in references}
    read = [items.get(_referenced_id(item)) if id(item) in named else item for item in given]
    missing = [name for item in references if (name := _referenced_id(item)) not in items]
    return Transcript(stored, [item for item in read if item is not None], tuple(missing))


def find_references(given: Sequence[Json]) -> list[Json]:
    """Return the items that are references to stored ones; their type may be absent."""
    return [
        item
        for item in given
        if (kind := item.get("type")) == "item_reference" or (kind is None and "role" not in item and "id" in item)
    ]


def _referenced_id(reference: Json) -> str:
    return str(reference.get("id", ""))


def conversation_id(body: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation of a request, in which it is a string or `{"id": …}`."""
    if (named := body.get("conversation")) is None:
        return None
    if isinstance(named, dict):
        named = named.get("id")
    return named if isinstance(named, str) else None
