"""What a journal tells of its conversations: what each request carries, what it continues, what the model said before.

Requests may be anything: what is no item is passed over. Items are known again by `id`, by `call_id`, by text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from harness.analysis.approval_ledger import APPROVAL_REQUEST, APPROVAL_RESPONSE
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.api.statuses import PENDING_STATUSES
from harness.contract.rule import CREATE_RESPONSE
from harness.contract.rules.http.websocket import SOCKET
from harness.core.exchange import Exchange, Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.items.transcript import answered_call_id, conversation_id, input_items

RETRIEVE_RESPONSE = "GET /responses/{response_id}"
CREATE_CONVERSATION = "POST /conversations"
CREATE_ITEMS = "POST /conversations/{conversation_id}/items"
DELETE_ITEM = "DELETE /conversations/{conversation_id}/items/{item_id}"
MESSAGE = "message"
FAILED_OR_CUT_OFF = ("failed", "cut off")
"""The statuses of a response after which nothing goes on, and what became of its answer."""

ItemKey = tuple[str, str]
"""What an item is, loosely: its role and words, `call` or `output` and the `call_id`, its type and id."""


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A request for a response: the `number` of its exchange, its `body`, the items it brings, each with its place.

    `held` are the items of what it continues; `known` is False when the journal does not tell them. `keys` are those of
    messages, calls and outputs of both, instructions left out; `starts` says how many of them are held.
    """

    number: int
    body: Json
    previous_items: Sequence[Json]
    placed_items: Sequence[tuple[str, Json]]
    is_history_known: bool
    is_chained: bool
    item_keys: Sequence[ItemKey]
    previous_key_count: int

    @property
    def items(self) -> Iterator[Json]:
        """The whole transcript, as far as it is known."""
        yield from self.previous_items
        yield from (item for _, item in self.placed_items)

    def items_after(self, length: int) -> Sequence[tuple[str, Json]]:
        """The items it brings after so many keys; none when these end within what is held."""
        left = length - self.previous_key_count
        for index, (_, item) in enumerate(self.placed_items if left >= 0 else ()):
            if left == 0:
                return self.placed_items[index:]
            left -= item_key(item) is not None
        return ()

    @property
    def assistant_messages(self) -> Iterator[tuple[str, Json]]:
        """The assistant's messages that it brings, each with its place."""
        return ((at, item) for at, item in self.placed_items if is_assistant(item))


@dataclass(frozen=True, slots=True)
class HistoryReply:
    """What the model said `to` a request: `number` is of the exchange that told it, `status` how the response ended."""

    number: int
    request: HistoryRequest
    output: Sequence[Json]
    status: str

    @property
    def is_completed(self) -> bool:
        """Whether the response completed."""
        return self.status == "completed"


@dataclass(frozen=True, slots=True)
class OutputItem:
    """An item that the model said, or a part of its message, as the client was told it; `index` is its place."""

    item: Json
    reply: HistoryReply
    index: int

    @property
    def number(self) -> int:
        """The exchange that told it."""
        return self.reply.number


@dataclass(slots=True)
class History:
    """What was said and sent before a request; `answers` are the calls that any request of the journal answers."""

    answered_ids: frozenset[str] = frozenset()
    replies: list[HistoryReply] = field(default_factory=list)
    by_id: dict[str, OutputItem] = field(default_factory=dict)
    by_call: dict[str, list[OutputItem]] = field(default_factory=dict)
    by_text: dict[str, list[OutputItem]] = field(default_factory=dict)
    by_input: dict[int, list[HistoryReply]] = field(default_factory=dict)
    call_outputs: dict[str, list[tuple[int, Json]]] = field(default_factory=dict)
    allowed_counts: Counter[ItemKey] = field(default_factory=Counter)
    pending_requests: dict[str, HistoryRequest] = field(default_factory=dict)
    transcripts: dict[str, Sequence[Json]] = field(default_factory=dict)
    conversations: dict[str, list[Json]] = field(default_factory=dict)
    items: dict[str, Json] = field(default_factory=dict)

    def read_request(self, exchange: Exchange) -> HistoryRequest | None:
        """What an exchange asks the model; None when it asks nothing that can be read."""
        body = exchange.request.body
        if exchange.request.operation not in (CREATE_RESPONSE, SOCKET) or not isinstance(body, dict):
            return None
        previous, conversation = body.get("previous_response_id"), conversation_id(body)
        chain, id = (
            (self.transcripts, previous) if isinstance(previous, str) else (self.conversations, conversation or "")
        )
        held = chain.get(id, ())
        given = list(self._place_items(body))
        before = [one for item in held if (one := item_key(item))]
        keys = [*before, *(one for _, item in given if (one := item_key(item)))]
        chained = previous is not None or conversation is not None
        known = not chained or id in chain
        return HistoryRequest(exchange.number, body, held, given, known, chained, keys, len(before))

    def _place_items(self, body: Json) -> Iterator[tuple[str, Json]]:
        own: dict[str, Json] = {}
        for index, item in enumerate(input_items(body)):
            if not isinstance(item, dict):
                continue
            at = f"input[{index}]" if isinstance(body["input"], list) else "input"
            id = as_string(item.get("id"))
            if item_type(item) == "item_reference" or (id and set(item) <= {"id", "type"} and not item_type(item)):
                item = own.get(id) or self.items.get(id) or item
            elif id:
                own[id] = item
            yield at, item

    def add_exchange(self, exchange: Exchange, asked: HistoryRequest | None) -> None:
        """Take in what was answered, and what a request that was taken has stored."""
        answer = exchange.answer.body
        if exchange.status != 200 or not isinstance(answer, dict):
            return
        id, operation = as_string(answer.get("id")), exchange.request.operation
        if asked:
            self._add_input(asked)
            self.pending_requests[id] = asked
        if id in self.pending_requests and operation in (CREATE_RESPONSE, SOCKET, RETRIEVE_RESPONSE):
            self._add_response(exchange, answer, self.pending_requests[id])
        elif operation in (CREATE_CONVERSATION, CREATE_ITEMS, DELETE_ITEM):
            self._update_conversation(exchange, answer)

    def _add_input(self, asked: HistoryRequest) -> None:
        for _, item in asked.placed_items:
            if id := as_string(item.get("id")):
                self.items.setdefault(id, item)
            if call_id := answered_id(item):
                self.call_outputs.setdefault(call_id, []).append((asked.number, item))

    def _add_response(self, exchange: Exchange, answer: Json, asked: HistoryRequest) -> None:
        id, status, output = (
            as_string(answer.get("id")),
            _final_status(exchange, answer),
            list(objects_in(answer.get("output"))),
        )
        transcript = self.transcripts[id] = [*asked.items, *output]
        if status in PENDING_STATUSES:
            return
        del self.pending_requests[id]
        if status not in FAILED_OR_CUT_OFF and (conversation := conversation_id(asked.body)) in self.conversations:
            self.conversations[conversation or ""] = transcript
        reply = HistoryReply(exchange.number, asked, output, status)
        self.replies.append(reply)
        self.by_input.setdefault(hash_sequence(asked.item_keys), []).append(reply)
        before = Counter(asked.item_keys)
        for index, item in enumerate(output):
            self._index_output(OutputItem(item, reply, index), before)

    def _index_output(self, said: OutputItem, before: Counter[ItemKey]) -> None:
        item, known = said.item, item_key(said.item)
        if known:
            self.allowed_counts[known] += 1 + (before[known] if known not in self.allowed_counts else 0)
        if id := as_string(item.get("id")):
            self.items[id] = item
            self.by_id.setdefault(id, said)
        if call_id := client_call_id(item):
            for name in {call_id, id} - {""}:  # some send the `id` of a call as its `call_id`
                self.by_call.setdefault(name, []).append(said)
        parts = item.get("content") if is_assistant(item) else ()
        several = objects_in(parts) if isinstance(parts, list) and len(parts) > 1 else ()
        for one in (said, *(OutputItem({**item, "content": [part]}, said.reply, said.index) for part in several)):
            if words := message_text(one.item).strip():
                self.by_text.setdefault(words, []).append(one)

    def _update_conversation(self, exchange: Exchange, answer: Json) -> None:
        request = exchange.request
        id = request.params.get("conversation_id", as_string(answer.get("id")))
        if request.operation == CREATE_CONVERSATION:
            body = request.body if isinstance(request.body, dict) else {}
            self.conversations[id] = list(objects_in(body.get("items")))
        elif request.operation == CREATE_ITEMS and id in self.conversations:
            self.conversations[id] = [*self.conversations[id], *objects_in(answer.get("data"))]
        elif id in self.conversations:
            kept = [item for item in self.conversations[id] if item.get("id") != request.params["item_id"]]
            if len(kept) < len(self.conversations[id]):
                self.conversations[id] = kept
            else:
                del self.conversations[id]  # which of them is gone is not told

    def find_originals(self, item: Json) -> Sequence[OutputItem]:
        """What the model said that an item repeats: by its id, else by its `call_id`, else by its words."""
        said = self.by_id.get(as_string(item.get("id")))
        if said and item_type(said.item) == item_type(item):
            return [said]
        if call_id := client_call_id(item):
            return self.by_call.get(call_id, ())
        return self.by_text.get(message_text(item).strip(), ()) if is_assistant(item) else ()

    def find_original(self, item: Json) -> OutputItem | None:
        """The one thing that the model said and an item repeats; None where there are several, or none."""
        found = self.find_originals(item)
        return found[0] if len(found) == 1 else None

    def original_key(self, item: Json) -> ItemKey | None:
        """What an item is, by what the model said if it has the id of that."""
        said = self.find_originals(item) if client_call_id(item) or as_string(item.get("id")) in self.by_id else ()
        return item_key(said[-1].item if said else item)

    def find_continued(self, asked: HistoryRequest) -> tuple[Sequence[HistoryReply], int]:
        """The replies to the longest beginning of a transcript, and how many of its keys that is; none and 0."""
        found: tuple[Sequence[HistoryReply], int] = ((), 0)
        whole = hash_sequence(())
        for length, one in enumerate(asked.item_keys, 1):
            whole = hash((whole, one))
            if length < len(asked.item_keys) and whole in self.by_input:
                found = self.by_input[whole], length
        return found


def _final_status(exchange: Exchange, answer: Json) -> str:
    """How a response ended; one in the background goes on when its answer breaks off."""
    broke = None if answer.get("background") else exchange.answer.disconnection
    return broke or as_string(answer.get("status"))


def hash_sequence(keys: Iterable[Hashable]) -> int:
    """One number for a sequence, which can be made longer step by step."""
    whole = hash(())
    for one in keys:
        whole = hash((whole, one))
    return whole


def answered_ids_in(exchanges: Sequence[Exchange]) -> frozenset[str]:
    """The ids of all calls and approval requests that a request answers."""
    bodies = (one.request.body for one in exchanges if one.request.operation in (CREATE_RESPONSE, SOCKET))
    items = (item for body in bodies if isinstance(body, dict) for item in objects_in(input_items(body)))
    return frozenset(filter(None, map(answered_id, items)))


def item_key(item: Json) -> ItemKey | None:
    """What an item is, loosely; None for instructions, reasoning and what only the API executes."""
    if item_type(item) == MESSAGE:
        role = as_string(item.get("role"))
        return None if role in INSTRUCTION_ROLES else (role, message_text(item).strip())
    if call_id := client_call_id(item):
        return "call", call_id
    return ("output", call_id) if (call_id := answered_id(item)) else None


def item_type(item: Json) -> str:
    """The type of an item; a message may go without."""
    return as_string(item.get("type")) or (MESSAGE if "role" in item else "")


def is_assistant(item: Json) -> bool:
    """Whether an item is a message of the assistant."""
    return item.get("role") == "assistant" and item_type(item) == MESSAGE


def client_call_id(item: Json) -> str:
    """The `call_id` of a call that the client executes, the id of a request for its approval; else empty."""
    if item_type(item) == APPROVAL_REQUEST:
        return as_string(item.get("id"))
    return (
        as_string(item.get("call_id"))
        if item_type(item) in CLIENT_CALL_NAMES and item.get("execution") != "server"
        else ""
    )


def answered_id(item: Json) -> str:
    """What an output or an approval answers, by its id; empty for other items."""
    if item_type(item) == APPROVAL_RESPONSE:
        return as_string(item.get("approval_request_id"))
    return answered_call_id(item) or "" if item_type(item) in CALL_OF_OUTPUT else ""


def message_text(item: Json) -> str:
    """The words of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(as_string(part.get("text")) or as_string(part.get("refusal")) for part in objects_in(content))


def describe_item(item: Json) -> str:
    """An item in a few words: its type, its name and call, or how it begins."""
    label = " ".join(filter(None, (item_type(item), as_string(item.get("name")))))
    if id := client_call_id(item) or answered_id(item):
        return f"{label} ({id})"
    words = message_text(item) if item_type(item) == MESSAGE else ""
    if words:
        return f"message {quote(' '.join(words.split()))}"
    return f"{label} ({as_string(item.get('id'))})" if as_string(item.get("id")) else label


def count_pairs(keys: Sequence[ItemKey]) -> Counter[tuple[ItemKey, ItemKey]]:
    """How often each item follows the same other."""
    return Counter(pairwise(keys))
