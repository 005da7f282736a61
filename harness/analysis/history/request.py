"""A request for a response, its reply, and the items of that reply, in the form that the losses read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from harness.analysis.history.items import (
    MESSAGE,
    ItemKey,
    answered_id,
    client_call_id,
    describe_item,
    extend_hash,
    is_assistant,
    item_ids,
    item_key,
    item_type,
    message_text,
    notes_of,
)
from harness.analysis.history.text_index import letters_of
from harness.analysis.lanes import INSTRUCTION_ROLES, mask_dates_and_ids
from harness.core.cached import cached_property
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in

T = TypeVar("T")


class _Shared(Generic[T]):
    """Holds the values of the longest of several sequences, each of which is a beginning of it.

    `places` maps each of the first `indexed` values to its indexes, ascending.
    """

    __slots__ = ("indexed", "places", "values")

    def __init__(self, values: list[T]) -> None:
        self.values = values
        self.places: dict[Hashable, list[int]] = {}
        self.indexed = 0

    def find_places(self, value: Hashable) -> Sequence[int]:
        """Return the indexes of a value."""
        for place, held in enumerate(islice(self.values, self.indexed, None), self.indexed):
            self.places.setdefault(held, []).append(place)
        self.indexed = len(self.values)
        return self.places.get(value, ())


class GrowingSequence(Sequence[T]):
    """An immutable sequence; the first `extend` costs only the added part, as the longer sequence shares the values.

    A slice is a list.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._shared: _Shared[T] = _Shared([*values])
        self._length = len(self._shared.values)

    def extend(self, added: Iterable[T]) -> GrowingSequence[T]:
        """Return a sequence with more values at its end; a second one from the same beginning copies the values."""
        shared = self._shared if len(self._shared.values) == self._length else _Shared([*self])
        shared.values += added
        longer: GrowingSequence[T] = GrowingSequence.__new__(GrowingSequence)
        longer._shared, longer._length = shared, len(shared.values)
        return longer

    def count(self, value: Any) -> int:
        """Count the occurrences of a value; all values must be hashable."""
        return bisect_left(self._shared.find_places(value), self._length)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._shared.values, self._length)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return self._shared.values[slice(*place.indices(self._length))]
        return self._shared.values[range(self._length)[place]]


def facts_about(at: str, said: int | None, item: Json, **more: Any) -> Json:
    """Return the facts of a loss at a place of a request: `what` was lost there is an item that exchange `said` has."""
    return {"at": at, "said": said, "what": describe_item(item), **more}


FAILED_OR_CUT_OFF = ("failed", "cut off")
"""The statuses of a response that no request can continue; `cut off` means that the connection broke."""
LEFT = "left"
"""The status of a response whose answer the client did not take to its end: it may forget it, or keep what it has."""

PlacedItem = tuple[str, Json]
"""An item with its place, such as `input[2]`; `4/items[0]` if exchange 4 wrote it into the conversation."""


@dataclass(frozen=True, slots=True)
class KnownItems:
    """The items of a transcript in order, the `others` among them that are not messages, and the keys of its items.

    `is_compacted` says that a compaction is among them. `keys` belong to messages, calls and outputs, but not to
    instructions; `digests` are the hashes of all prefixes of `keys`, from the empty one to the whole. Extending a
    transcript does not read these items again.
    """

    items: GrowingSequence[Json]
    others: GrowingSequence[Json]
    keys: GrowingSequence[ItemKey]
    digests: GrowingSequence[int]
    is_compacted: bool = False

    def extend(self, added: Sequence[Json], all_keys: Sequence[ItemKey | None] | None = None) -> KnownItems:
        """Return the transcript with the items `added` at its end; `all_keys` are their keys, if known."""
        keys = [key for key in (map(item_key, added) if all_keys is None else all_keys) if key]
        digests = [self.digests[-1]]
        for key in keys:
            digests.append(extend_hash(digests[-1], key))
        return KnownItems(
            self.items.extend(added),
            self.others.extend(item for item in added if item_type(item) != MESSAGE),
            self.keys.extend(keys),
            self.digests.extend(digests[1:]) if self.keys else GrowingSequence(digests),
            self.is_compacted or any(item_type(item) == "compaction" for item in added),
        )


NO_ITEMS = KnownItems(GrowingSequence(), GrowingSequence(), GrowingSequence(), GrowingSequence([hash(())]))


@dataclass(frozen=True)
class HistoryRequest:
    """A request for a response: the `number` of its exchange, the `body`, the items and their places.

    `previous` are the items of the response or conversation that it continues; `is_history_known` is False if the
    journal does not contain them, `is_chained` True if there are any. `is_asked` is False if a client writes items without
    asking the model. `withheld` lists the reasoning that the model did not get, as the answer does. All that is derived
    from these is computed once.
    """

    number: int
    body: Json
    previous: KnownItems
    placed_items: Sequence[PlacedItem]
    is_history_known: bool
    is_chained: bool
    is_asked: bool = True
    withheld: Sequence[Json] = ()

    @cached_property
    def transcript(self) -> KnownItems:
        """The whole transcript, as far as it is known."""
        return self.previous.extend([item for _, item in self.placed_items], self.placed_keys)

    @cached_property
    def placed_keys(self) -> Sequence[ItemKey | None]:
        """The key of each input item."""
        return [item_key(item) for _, item in self.placed_items]

    @property
    def other_items(self) -> Sequence[Json]:
        """The items of the transcript that are not messages."""
        return self.transcript.others

    @property
    def item_keys(self) -> Sequence[ItemKey]:
        """The keys of the transcript."""
        return self.transcript.keys

    def items_after(self, length: int) -> Sequence[PlacedItem]:
        """List the input items after the first `length` keys; empty if these end within the `previous` items."""
        left = length - len(self.previous.keys)
        if left < 0 or left >= len(self._key_places):
            return self.placed_items if left == 0 else ()
        return self.placed_items[self._key_places[left - 1] + 1 :] if left else self.placed_items

    @cached_property
    def _key_places(self) -> Sequence[int]:
        return [index for index, key in enumerate(self.placed_keys) if key]

    @property
    def digests(self) -> Sequence[int]:
        """The hashes of all prefixes of `item_keys`, from the empty one to the whole."""
        return self.transcript.digests

    @cached_property
    def last_prompts(self) -> Sequence[ItemKey]:
        """The keys of the user messages at the end of the transcript."""
        keys = self.item_keys
        count = next((back for back in range(len(keys)) if keys[len(keys) - 1 - back][0] != "user"), len(keys))
        return keys[len(keys) - count :] if count else ()

    @cached_property
    def turn(self) -> Sequence[PlacedItem]:
        """The input items after the last user message: what the model has done since, and the outputs of its calls."""
        spoken = [index for index, (_, item) in enumerate(self.placed_items) if item.get("role") == "user"]
        return self.placed_items[spoken[-1] + 1 :] if spoken else self.placed_items

    @cached_property
    def assistant_messages(self) -> Sequence[PlacedItem]:
        """The assistant's messages among the input items, each with its place."""
        return [placed for placed in self.placed_items if is_assistant(placed[1])]

    @cached_property
    def calls(self) -> Sequence[tuple[str, str, Json]]:
        """The client's calls among the input items: place, `call_id`, item."""
        return [(place, id, item) for place, item in self.placed_items if (id := client_call_id(item))]

    @cached_property
    def outputs(self) -> Sequence[tuple[str, str, Json]]:
        """The outputs of calls and the answers to approval requests among the input items: place, answered id, item."""
        return [(place, id, item) for place, item in self.placed_items if (id := answered_id(item))]

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the items of the transcript that are not messages."""
        return frozenset(id for item in self.other_items for id in item_ids(item))

    @property
    def is_compacted(self) -> bool:
        """Whether a compaction replaces part of the transcript."""
        return self.transcript.is_compacted

    @cached_property
    def tool_names(self) -> frozenset[str]:
        """The tools by name, else by server label or type."""
        return frozenset(map(tool_name, objects_in(self.body.get("tools"))))

    @cached_property
    def masked_instructions(self) -> str:
        """The instructions without dates and ids, which change between requests of one agent."""
        leading = (message_text(item) for _, item in self.placed_items if item.get("role") in INSTRUCTION_ROLES)
        return mask_dates_and_ids("\n".join([as_string(self.body.get("instructions")), *leading]))

    @cached_property
    def agent(self) -> tuple[frozenset[str], str]:
        """The tools and instructions."""
        return self.tool_names, self.masked_instructions

    @property
    def asks_for_json(self) -> bool:
        """Whether the answer is to be JSON."""
        kind = as_object(as_object(self.body.get("text")).get("format")).get("type")
        return kind in ("json_object", "json_schema")

    @cached_property
    def message_letters(self) -> frozenset[str]:
        """The letters of each message among the input items, whatever its role."""
        return frozenset(letters_of(message_text(item)) for _, item in self.placed_items if item_type(item) == MESSAGE)


def tool_name(tool: Json) -> str:
    """Return the name of a tool, else its server label or type."""
    return as_string(tool.get("name")) or as_string(tool.get("server_label")) or as_string(tool.get("type"))


@dataclass(frozen=True, slots=True)
class HistoryReply:
    """The model's `output` for a request; `number` is the exchange with the answer, `status` the final status."""

    number: int
    request: HistoryRequest
    output: Sequence[Json]
    status: str

    @property
    def is_completed(self) -> bool:
        """Whether the response has completed."""
        return self.status == "completed"


@dataclass(frozen=True, slots=True)
class OutputItem:
    """An output item as the client received it, or a message with one of its parts; `index` is the output index."""

    item: Json
    reply: HistoryReply
    index: int

    @property
    def number(self) -> int:
        """The number of the exchange with the answer."""
        return self.reply.number

    def lost(self, at: str, **more: Any) -> Json:
        """Return the facts of a loss of this item at a place of a request."""
        return facts_about(at, self.number, self.item, **more)

    @property
    def annotation_count(self) -> int:
        """The number of annotations of a message."""
        return len(notes_of(self.item))

    @property
    def is_partial(self) -> bool:
        """Whether the item may be incomplete: its status is not final, or its response failed or was cut off."""
        if not (is_assistant(self.item) or client_call_id(self.item)) or self.reply.is_completed:
            return False
        left_open = self.item.get("status") not in (None, "completed")
        return left_open or (is_assistant(self.item) and self.reply.status in FAILED_OR_CUT_OFF)


@dataclass(slots=True)
class SaidText:
    """All messages with the same text, and what the losses need to know about them, computed as they are added."""

    originals: list[OutputItem] = field(default_factory=list)
    least_cited: OutputItem | None = None
    phases: dict[str, OutputItem] = field(default_factory=dict)
    is_partial: bool = True
    reply_ids: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    """The digests of the requests that were answered with this text."""

    def add(self, original: OutputItem) -> SaidText:
        """Add a message with this text, and return this."""
        self.originals.append(original)
        if self.least_cited is None or original.annotation_count < self.least_cited.annotation_count:
            self.least_cited = original
        phase = as_string(original.item.get("phase"))
        self.phases.pop(phase, None)
        self.phases[phase] = original
        self.is_partial = self.is_partial and original.is_partial
        self.reply_ids.add(id(original.reply))
        self.asked.add(original.reply.request.digests[-1])
        return self
