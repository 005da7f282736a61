"""The history before each request of a journal: the items it sends and continues, and the output that they repeat.

Requests may be malformed: values that are no items are skipped. Items are recognised by `id`, `call_id` or text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from harness.analysis.approval_ledger import APPROVAL_REQUEST, APPROVAL_RESPONSE
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.api.statuses import PENDING_STATUSES
from harness.api.websocket_mode import SOCKET
from harness.contract.rule import CREATE_RESPONSE
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
"""The statuses of a response that no request can continue; `cut off` is that of a broken connection."""

ItemKey = tuple[str, str]
"""A loose identity of an item: its role and text, or `call` or `output` and the `call_id`."""


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A request for a response: the `number` of its exchange, its `body`, and its input items, each with its place.

    `previous_items` are those of the response or conversation that it continues; `is_history_known` is False when the
    journal does not show them. `item_keys` are the keys of messages, calls and outputs of both, without instructions;
    the first `previous_key_count` of them belong to `previous_items`.
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
        """The items of the transcript, as far as it is known."""
        yield from self.previous_items
        yield from (item for _, item in self.placed_items)

    def items_after(self, length: int) -> Sequence[tuple[str, Json]]:
        """The input items after the first `length` keys; none when these end within `previous_items`."""
        left = length - self.previous_key_count
        for index, (_, item) in enumerate(self.placed_items if left >= 0 else ()):
            if left == 0:
                return self.placed_items[index:]
            left -= item_key(item) is not None
        return ()

    @property
    def assistant_messages(self) -> Iterator[tuple[str, Json]]:
        """The assistant's messages among the input items, each with its place."""
        return ((at, item) for at, item in self.placed_items if is_assistant(item))


@dataclass(frozen=True, slots=True)
class HistoryReply:
    """The `output` of the model for a request; `number` is that of the exchange with the answer, `status` the final one."""

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
    """An output item, or a message with one of its parts, as the client received it; `index` is its place in the output."""

    item: Json
    reply: HistoryReply
    index: int

    @property
    def number(self) -> int:
        """The number of the exchange with the answer."""
        return self.reply.number


@dataclass(slots=True)
class History:
    """What was sent and answered before a request; `answered_ids` are the calls that any request of the journal answers."""

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
        """The request for a response in an exchange; None for other operations and for bodies that are no objects."""
        body = exchange.request.body
        if exchange.request.operation not in (CREATE_RESPONSE, SOCKET) or not isinstance(body, dict):
            return None
        previous, conversation = body.get("previous_response_id"), conversation_id(body)
        chain, id = (
            (self.transcripts, previous) if isinstance(previous, str) else (self.conversations, conversation or "")
        )
        previous_items = chain.get(id, ())
        placed_items = list(self._place_items(body))
        previous_keys = [key for item in previous_items if (key := item_key(item))]
        keys = [*previous_keys, *(key for _, item in placed_items if (key := item_key(item)))]
        is_chained = previous is not None or conversation is not None
        is_known = not is_chained or id in chain
        return HistoryRequest(
            exchange.number, body, previous_items, placed_items, is_known, is_chained, keys, len(previous_keys)
        )

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

    def add_exchange(self, exchange: Exchange, request: HistoryRequest | None) -> None:
        """Record an answer and, for an accepted request, its input."""
        answer = exchange.answer.body
        if exchange.status != 200 or not isinstance(answer, dict):
            return
        id, operation = as_string(answer.get("id")), exchange.request.operation
        if request:
            self._add_input(request)
            self.pending_requests[id] = request
        if id in self.pending_requests and operation in (CREATE_RESPONSE, SOCKET, RETRIEVE_RESPONSE):
            self._add_response(exchange, answer, self.pending_requests[id])
        elif operation in (CREATE_CONVERSATION, CREATE_ITEMS, DELETE_ITEM):
            self._update_conversation(exchange, answer)

    def _add_input(self, request: HistoryRequest) -> None:
        for _, item in request.placed_items:
            if id := as_string(item.get("id")):
                self.items.setdefault(id, item)
            if call_id := answered_id(item):
                self.call_outputs.setdefault(call_id, []).append((request.number, item))

    def _add_response(self, exchange: Exchange, answer: Json, request: HistoryRequest) -> None:
        id, status, output = (
            as_string(answer.get("id")),
            _final_status(exchange, answer),
            list(objects_in(answer.get("output"))),
        )
        transcript = self.transcripts[id] = [*request.items, *output]
        if status in PENDING_STATUSES:
            return
        del self.pending_requests[id]
        if status not in FAILED_OR_CUT_OFF and (conversation := conversation_id(request.body)) in self.conversations:
            self.conversations[conversation or ""] = transcript
        reply = HistoryReply(exchange.number, request, output, status)
        self.replies.append(reply)
        self.by_input.setdefault(hash_sequence(request.item_keys), []).append(reply)
        sent_keys = Counter(request.item_keys)
        for index, item in enumerate(output):
            self._index_output(OutputItem(item, reply, index), sent_keys)

    def _index_output(self, output: OutputItem, sent_keys: Counter[ItemKey]) -> None:
        item, key = output.item, item_key(output.item)
        if key:
            self.allowed_counts[key] += 1 + (sent_keys[key] if key not in self.allowed_counts else 0)
        if id := as_string(item.get("id")):
            self.items[id] = item
            self.by_id.setdefault(id, output)
        if call_id := client_call_id(item):
            for name in {call_id, id} - {""}:  # some send the `id` of a call as its `call_id`
                self.by_call.setdefault(name, []).append(output)
        parts = item.get("content") if is_assistant(item) else ()
        single_parts = objects_in(parts) if isinstance(parts, list) and len(parts) > 1 else ()
        for one in (
            output,
            *(OutputItem({**item, "content": [part]}, output.reply, output.index) for part in single_parts),
        ):
            if text := message_text(one.item).strip():
                self.by_text.setdefault(text, []).append(one)

    def _update_conversation(self, exchange: Exchange, answer: Json) -> None:
        request = exchange.request
        id = request.params.get("conversation_id", as_string(answer.get("id")))
        if request.operation == CREATE_CONVERSATION:
            body = request.body if isinstance(request.body, dict) else {}
            self.conversations[id] = list(objects_in(body.get("items")))
        elif request.operation == CREATE_ITEMS and id in self.conversations:
            self.conversations[id] = [*self.conversations[id], *objects_in(answer.get("data"))]
        elif id in self.conversations:
            remaining = [item for item in self.conversations[id] if item.get("id") != request.params["item_id"]]
            if len(remaining) < len(self.conversations[id]):
                self.conversations[id] = remaining
            else:
                del self.conversations[id]  # it is unknown which item was deleted

    def find_originals(self, item: Json) -> Sequence[OutputItem]:
        """The output items that an item repeats, found by its id, else by its `call_id`, else by its text."""
        original = self.by_id.get(as_string(item.get("id")))
        if original and item_type(original.item) == item_type(item):
            return [original]
        if call_id := client_call_id(item):
            return self.by_call.get(call_id, ())
        return self.by_text.get(message_text(item).strip(), ()) if is_assistant(item) else ()

    def find_original(self, item: Json) -> OutputItem | None:
        """The only output item that an item repeats; None when there are several, or none."""
        found = self.find_originals(item)
        return found[0] if len(found) == 1 else None

    def original_key(self, item: Json) -> ItemKey | None:
        """The key of an item, or of the output item that it repeats by `id` or `call_id`."""
        originals = self.find_originals(item) if client_call_id(item) or as_string(item.get("id")) in self.by_id else ()
        return item_key(originals[-1].item if originals else item)

    def find_continued(self, request: HistoryRequest) -> tuple[Sequence[HistoryReply], int]:
        """The replies to the longest beginning of a transcript, and its number of keys; none and 0 if there is none."""
        found: tuple[Sequence[HistoryReply], int] = ((), 0)
        digest = hash_sequence(())
        for length, key in enumerate(request.item_keys, 1):
            digest = hash((digest, key))
            if length < len(request.item_keys) and digest in self.by_input:
                found = self.by_input[digest], length
        return found


def _final_status(exchange: Exchange, answer: Json) -> str:
    """How a response ended; a background response goes on when its answer breaks off."""
    disconnection = None if answer.get("background") else exchange.answer.disconnection
    return disconnection or as_string(answer.get("status"))


def hash_sequence(keys: Iterable[Hashable]) -> int:
    """A hash of a sequence that can be extended key by key."""
    digest = hash(())
    for key in keys:
        digest = hash((digest, key))
    return digest


def answered_ids_in(exchanges: Sequence[Exchange]) -> frozenset[str]:
    """The ids of all calls and approval requests that a request answers."""
    bodies = (one.request.body for one in exchanges if one.request.operation in (CREATE_RESPONSE, SOCKET))
    items = (item for body in bodies if isinstance(body, dict) for item in objects_in(input_items(body)))
    return frozenset(filter(None, map(answered_id, items)))


def item_key(item: Json) -> ItemKey | None:
    """The key of an item; None for instructions, reasoning and calls that the API executes."""
    if item_type(item) == MESSAGE:
        role = as_string(item.get("role"))
        return None if role in INSTRUCTION_ROLES else (role, message_text(item).strip())
    if call_id := client_call_id(item):
        return "call", call_id
    return ("output", call_id) if (call_id := answered_id(item)) else None


def item_type(item: Json) -> str:
    """The type of an item; a message may omit it."""
    return as_string(item.get("type")) or (MESSAGE if "role" in item else "")


def is_assistant(item: Json) -> bool:
    """Whether an item is a message of the assistant."""
    return item.get("role") == "assistant" and item_type(item) == MESSAGE


def client_call_id(item: Json) -> str:
    """The `call_id` of a call that the client executes, or the id of an approval request; else empty."""
    if item_type(item) == APPROVAL_REQUEST:
        return as_string(item.get("id"))
    return (
        as_string(item.get("call_id"))
        if item_type(item) in CLIENT_CALL_NAMES and item.get("execution") != "server"
        else ""
    )


def answered_id(item: Json) -> str:
    """The id of the call or approval request that an item answers; empty for other items."""
    if item_type(item) == APPROVAL_RESPONSE:
        return as_string(item.get("approval_request_id"))
    return answered_call_id(item) or "" if item_type(item) in CALL_OF_OUTPUT else ""


def message_text(item: Json) -> str:
    """The text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(as_string(part.get("text")) or as_string(part.get("refusal")) for part in objects_in(content))


def describe_item(item: Json) -> str:
    """An item in a few words: its type, its name and call, or the beginning of its text."""
    label = " ".join(filter(None, (item_type(item), as_string(item.get("name")))))
    if id := client_call_id(item) or answered_id(item):
        return f"{label} ({id})"
    text = message_text(item) if item_type(item) == MESSAGE else ""
    if text:
        return f"message {quote(' '.join(text.split()))}"
    return f"{label} ({as_string(item.get('id'))})" if as_string(item.get("id")) else label


def count_pairs(keys: Sequence[ItemKey]) -> Counter[tuple[ItemKey, ItemKey]]:
    """How often each key directly follows another."""
    return Counter(pairwise(keys))
