"""The storage of one API key, one table per kind of object.

A table is a mutable mapping by id that iterates in order of creation. Endpoints change threads and vector stores in
place, so these two tables must not return copies.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from harness.analysis.prompt_prefix import Thought
from harness.api.resources.assistants import Thread
from harness.api.resources.containers import Container
from harness.api.resources.files import File, PartedUpload, VectorStore
from harness.api.responses import FullItem
from harness.core.exchange import Json
from harness.core.limits import oldest_beyond
from harness.core.registry import BOUNDED_TABLES, TABLES, TableKind
from harness.ending import DEFAULT_ENDING, Ending
from harness.items.transcript import EMPTY_CHAIN, ItemChain, Transcript, conversation_id, resolve_transcript

T = TypeVar("T")
Table = MutableMapping[str, T]
"""The stored objects of one kind, by id."""


_ENTRIES_PER_RESPONSE = 10
"""Entries kept for unstored responses, per response that may be stored."""


class StoredResponse(NamedTuple):
    """A response that can be continued or read back: the object, the input items, and the chain up to it.

    `events` is the stream that can be retrieved again; None if the response was not streamed.
    """

    response: Json
    input: Sequence[Json]
    chain: ItemChain
    events: Sequence[Json] | None = None


class PendingResponse(NamedTuple):
    """A response that the model has answered and that may still be in progress.

    `initial_response` is the response as it began; `output`, `usage` and `ending` are its end. `previous` is the chain
    that it continues; `is_stored` says whether it is stored at its end.
    """

    initial_response: Json
    output: Sequence[Json]
    usage: Json
    own_input: Sequence[Json]
    previous: ItemChain
    conversation: str | None = None
    is_stored: bool = True
    ending: Ending = DEFAULT_ENDING


@dataclass(slots=True)
class Conversation:
    """A stored conversation: its object and its items in order."""

    object: Json
    chain: ItemChain = EMPTY_CHAIN

    @property
    def items(self) -> list[Json]:
        """The items, oldest first."""
        return list(self.chain)

    def add_items(self, items: Iterable[Json]) -> None:
        """Append items to the conversation."""
        self.chain = self.chain.extend(*items)

    def remove_item(self, id: str) -> None:
        """Remove an item from the conversation; earlier responses keep it in their chains."""
        self.chain = ItemChain([item for item in self.chain if item.get("id") != id])


@dataclass(slots=True, kw_only=True)
class Store:
    """The tables of one key.

    `pending` holds the background responses in progress; `items` everything that an `item_reference` can name.
    `unfiltered_items` holds what the `include` of a request hid; `reasoning_of` and `follower_of` link a reasoning item
    and the item after it; `encrypted_contents` holds those from scripts; `thoughts` says how each reasoning item was said,
    for models that withhold it after an edit; `declared` are the tables of other packages.
    """

    responses: Table[StoredResponse]
    pending: Table[PendingResponse]
    conversations: Table[Conversation]
    items: Table[Json]
    unfiltered_items: Table[FullItem]
    reasoning_of: Table[str]
    follower_of: Table[Sequence[str]]
    encrypted_contents: Table[str]
    thoughts: Table[Thought]
    files: Table[File]
    vector_stores: Table[VectorStore]
    parted_uploads: Table[PartedUpload]
    containers: Table[Container]
    assistants: Table[Json]
    threads: Table[Thread]
    declared: dict[str, Table[Any]]

    def table(self, kind: TableKind[T]) -> Table[T]:
        """Return the table of a kind that another package has declared."""
        return self.declared.setdefault(kind.name, {})

    def chain_of(self, body: Mapping[str, object]) -> ItemChain:
        """Return the items that a request continues, of a response or a conversation; empty if it names neither."""
        return self.chain(body.get("previous_response_id"), conversation_id(body))

    def chain(self, previous: object, conversation: str | None) -> ItemChain:
        """Return the items of a response or a conversation; empty for unknown ones."""
        if previous is not None and previous in self.responses:
            return self.responses[str(previous)].chain
        stored = self.conversations.get(conversation) if conversation else None
        return stored.chain if stored else EMPTY_CHAIN

    def transcript(self, body: Json) -> Transcript:
        """Resolve the transcript of a request."""
        return resolve_transcript(self.chain_of(body), body, self.items)

    def put_items(self, items: Iterable[Json]) -> None:
        """Store items that have ids, so that they can be referenced."""
        for item in items:
            if id := item.get("id"):
                self.items[id] = item

    def put_response(self, response: Json, own_input: Sequence[Json], previous: ItemChain) -> None:
        """Store a response, so that it can be continued and read back, and its items referenced."""
        output = response["output"]
        chain = ItemChain((*own_input, *output), previous)
        self.responses[response["id"]] = StoredResponse(response, own_input, chain)
        self.put_items(chain.own)
        self._link_reasoning(output)

    def put_events(self, id: str, events: Sequence[Json]) -> None:
        """Store the stream of a stored response, so that it can be resumed."""
        self.responses[id] = self.responses[id]._replace(events=events)

    def keep_newest(self, most: int) -> None:
        """Drop the oldest responses beyond `most` with everything stored for them; conversations keep their items."""
        for id in oldest_beyond(self.responses, most):
            self._drop_response(id)

    def keep_newest_besides(self, most: int) -> None:
        """Drop the oldest of what is stored beside responses, beyond what `most` of them may have."""
        more = most * _ENTRIES_PER_RESPONSE
        hidden: Table[Any]
        for hidden in (self.unfiltered_items, self.encrypted_contents, self.thoughts, self.containers):
            if len(hidden) > more:
                _drop_oldest(hidden, more)
        for name in BOUNDED_TABLES:
            if len(hidden := self.declared.get(name, {})) > more:
                _drop_oldest(hidden, more)

    def _drop_response(self, id: str) -> None:
        stored = self.responses.pop(id)
        self.pending.pop(id, None)
        if stored.response.get("conversation"):
            return
        for item in (*stored.input, *stored.response["output"]):
            if (item_id := item.get("id")) and self.items.get(item_id) is item:
                del self.items[item_id]
                if self.follower_of:
                    self.reasoning_of.pop(item_id, None)
                    self.follower_of.pop(item_id, None)

    def add_to_conversation(self, id: str, items: Sequence[Json]) -> None:
        """Append items with ids to a conversation; from then on they can be referenced."""
        conversation = self.conversations[id]
        conversation.add_items(items)
        self.conversations[id] = conversation
        self.put_items(items)
        for item, next_item in pairwise(items):
            # A conversation stores the pair anew: a message that was added without its id has another one there.
            followers = self.follower_of.get(item["id"], ())
            if followers and next_item["id"] not in followers:
                self.follower_of[item["id"]] = (*followers, next_item["id"])

    def _link_reasoning(self, output: Sequence[Json]) -> None:
        for item, next_item in pairwise(output):
            if item["type"] == "reasoning" and "id" in item and (follower := next_item.get("id")):
                self.follower_of[item["id"]] = (follower,)
                self.reasoning_of[follower] = item["id"]

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """All tables by name."""
        return {**{name: getattr(self, name) for name in _OWN_TABLES}, **self.declared}


def _drop_oldest(table: Table[Any], most: int) -> None:
    for id in oldest_beyond(table, most):
        del table[id]


_OWN_TABLES = tuple(table.name for table in fields(Store) if table.name != "declared")


def empty_store() -> Store:
    """Make a store in memory, with dictionaries as tables."""
    own: dict[str, dict[str, Any]] = {table.name: {} for table in fields(Store)}
    return Store(**own | {"declared": {name: {} for name in TABLES}})
