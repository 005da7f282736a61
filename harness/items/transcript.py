"""The resolved transcript: the input of the model, from the chain or conversation to the last input item.

Every client-executed call in it needs an output, and the reverse; an id may occur once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.core.exchange import Json
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES

CallKey = tuple[str, str]
"""A call's type and `call_id`."""


@dataclass(frozen=True)
class Transcript:
    """Items in order; those before `start` are stored, the others come from the request (references resolved).

    `missing_references` are the ids of `item_reference`s that this key has not stored.
    """

    items: Sequence[Json]
    start: int
    missing_references: tuple[str, ...]

    @property
    def added(self) -> Sequence[Json]:
        """The items of the request itself."""
        return self.items[self.start :]

    @cached_property
    def added_by_type(self) -> Mapping[str, Sequence[Json]]:
        """The items of the request itself by type, in order; messages without a type have the type ''."""
        found: dict[str, list[Json]] = {}
        for item in self.added:
            found.setdefault(item.get("type") or "", []).append(item)
        return found

    @cached_property
    def calls(self) -> dict[CallKey, Json]:
        """The client-executed calls by kind and `call_id`."""
        return {
            (kind, item["call_id"]): item
            for item in self.items
            if (kind := item.get("type", "")) in CLIENT_CALL_NAMES
            and item.get("call_id")
            and item.get("execution") != "server"
        }

    @cached_property
    def outputs(self) -> list[CallKey]:
        """The call each output item answers, in order; an output without `call_id` answers none."""
        return [
            (CALL_OF_OUTPUT[kind], call_id)
            for item in self.items
            if (kind := item.get("type", "")) in CALL_OF_OUTPUT and (call_id := answered_call_id(item))
        ]


def answered_call_id(output: Json) -> str | None:
    """The `call_id` that an output answers; in `local_shell_call_output` it is the `id`."""
    call_id = output.get("call_id") or (output.get("id") if output["type"] == "local_shell_call_output" else None)
    return call_id if isinstance(call_id, str) else None


def input_items(body: Json) -> list[Json]:
    """`input` as items: a string is one user message."""
    input = body.get("input")
    if isinstance(input, str):
        return [{"type": "message", "role": "user", "content": input}]
    return input if isinstance(input, list) else []


def resolve_transcript(stored: Iterable[Json], body: Json, items: Mapping[str, Json]) -> Transcript:
    """The transcript of a request: stored items first, then its own, with references replaced by the stored items."""
    read, missing = [*stored], []
    start = len(read)
    for item in input_items(body):
        if not _is_reference(item):
            read.append(item)
        elif (named := items.get(id := str(item.get("id", "")))) is not None:
            read.append(named)
        else:
            missing.append(id)
    return Transcript(read, start, tuple(missing))


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
