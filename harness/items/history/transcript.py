"""The resolved transcript: the input of the model, from the chain or conversation to the last input item.

Every client-executed call in it needs an output, and the reverse; an id may occur once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.items.history.chain import CallKey, ItemChain, collect_calls, collect_outputs, pair_outputs


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
            found.setdefault(item.get("type") or "", []).append(item)
        return found

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
        """All items when one of these types is stored, else those of the request: enough to find items of the types."""
        return self.added if self.stored.facts.types.isdisjoint(types) else self.items

    @cached_property
    def unanswered_calls(self) -> Sequence[CallKey]:
        """The calls that need an output and have none, in order; those with `async` need none."""
        calls = self._recent_calls
        answered = pair_outputs(collect_outputs(self.added), calls)
        if all(key in answered or call.get("async") for key, call in calls.items()):
            return ()
        calls = collect_calls(self.items)
        answered = pair_outputs(collect_outputs(self.items), calls)
        return [key for key, call in calls.items() if key not in answered and not call.get("async")]

    @cached_property
    def uncalled_outputs(self) -> Sequence[CallKey]:
        """The calls that outputs answer and that are not there, in order."""
        calls = self._recent_calls
        outputs = pair_outputs(collect_outputs(self.added), calls)
        if self.stored.facts.is_paired and all(key in calls for key in outputs):
            return ()
        calls = collect_calls(self.items)
        return [key for key in pair_outputs(collect_outputs(self.items), calls) if key not in calls]

    @cached_property
    def _recent_calls(self) -> Mapping[CallKey, Json]:
        """The calls that the request may answer: those still open in what is stored, and its own."""
        return {**self.stored.facts.open_calls, **collect_calls(self.added)}


def input_items(body: Json) -> list[Json]:
    """`input` as items: a string is one user message."""
    input = body.get("input")
    if isinstance(input, str):
        return [{"type": "message", "role": "user", "content": input}]
    return input if isinstance(input, list) else []


def resolve_transcript(stored: ItemChain, body: Json, items: Mapping[str, Json]) -> Transcript:
    """The transcript of a request: stored items first, then its own, with references replaced by the stored items."""
    read: list[Json] = []
    missing = []
    for item in input_items(body):
        if not _is_reference(item):
            read.append(item)
        elif (named := items.get(id := str(item.get("id", "")))) is not None:
            read.append(named)
        else:
            missing.append(id)
    return Transcript(stored, read, tuple(missing))


def _is_reference(item: Mapping[str, Any]) -> bool:
    """Whether an item is a reference to a stored one; the type may be absent."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "role" not in item and "id" in item)


def conversation_id(body: Mapping[str, Any]) -> str | None:
    """The id of the conversation of a request, in which it is a string or `{"id": …}`."""
    if (named := body.get("conversation")) is None:
        return None
    if isinstance(named, dict):
        named = named.get("id")
    return named if isinstance(named, str) else None
