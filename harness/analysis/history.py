"""What a journal tells of its conversations: what each request carries, what it continues, what the model said before.

Requests may be anything: what is no item is passed over. Items are known again by `id`, by `call_id`, by text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from harness.api.transcript import CALL_OF_OUTPUT, CLIENT_CALL_NAMES, answered_call_id, conversation_id, input_items
from harness.contract.rule import CREATE_RESPONSE
from harness.contract.rules.http.websocket import SOCKET
from harness.core.exchange import Exchange, Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote

RETRIEVE = "GET /responses/{response_id}"
CONVERSE = "POST /conversations"
ADD = "POST /conversations/{conversation_id}/items"
REMOVE = "DELETE /conversations/{conversation_id}/items/{item_id}"
MESSAGE = "message"
APPROVAL, APPROVED = "mcp_approval_request", "mcp_approval_response"
PENDING = ("queued", "in_progress")
BROKEN = ("failed", "cut off")
"""The statuses of a response after which nothing goes on, and what became of its answer."""
SPEAKERS = ("system", "developer")

Key = tuple[str, str]
"""What an item is, loosely: its role and words, `call` or `output` and the `call_id`, its type and id."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a response: the `number` of its exchange, its `body`, the items it brings, each with its place.

    `held` are the items of what it continues; `known` is False when the journal does not tell them. `keys` are those of
    messages, calls and outputs of both, instructions left out; `starts` says how many of them are held.
    """

    number: int
    body: Json
    held: Sequence[Json]
    given: Sequence[tuple[str, Json]]
    known: bool
    chained: bool
    keys: Sequence[Key]
    starts: int

    @property
    def items(self) -> Iterator[Json]:
        """The whole transcript, as far as it is known."""
        yield from self.held
        yield from (item for _, item in self.given)

    def beyond(self, length: int) -> Sequence[tuple[str, Json]]:
        """The items it brings after so many keys; none when these end within what is held."""
        left = length - self.starts
        for index, (_, item) in enumerate(self.given if left >= 0 else ()):
            if left == 0:
                return self.given[index:]
            left -= key(item) is not None
        return ()

    @property
    def messages(self) -> Iterator[tuple[str, Json]]:
        """The assistant's messages that it brings, each with its place."""
        return ((at, item) for at, item in self.given if is_assistant(item))


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said `to` a request: `number` is of the exchange that told it, `status` how the response ended."""

    number: int
    to: Asked
    output: Sequence[Json]
    status: str

    @property
    def finished(self) -> bool:
        """Whether the response completed."""
        return self.status == "completed"


@dataclass(frozen=True, slots=True)
class Spoken:
    """An item that the model said, or a part of its message, as the client was told it; `index` is its place."""

    item: Json
    reply: Reply
    index: int

    @property
    def number(self) -> int:
        """The exchange that told it."""
        return self.reply.number


@dataclass(slots=True)
class Past:
    """What was said and sent before a request; `answers` are the calls that any request of the journal answers."""

    answers: frozenset[str] = frozenset()
    replies: list[Reply] = field(default_factory=list)
    by_id: dict[str, Spoken] = field(default_factory=dict)
    by_call: dict[str, list[Spoken]] = field(default_factory=dict)
    by_text: dict[str, list[Spoken]] = field(default_factory=dict)
    by_input: dict[int, list[Reply]] = field(default_factory=dict)
    outputs: dict[str, list[tuple[int, Json]]] = field(default_factory=dict)
    times: Counter[Key] = field(default_factory=Counter)
    pending: dict[str, Asked] = field(default_factory=dict)
    after: dict[str, Sequence[Json]] = field(default_factory=dict)
    conversations: dict[str, list[Json]] = field(default_factory=dict)
    items: dict[str, Json] = field(default_factory=dict)

    def asked(self, exchange: Exchange) -> Asked | None:
        """What an exchange asks the model; None when it asks nothing that can be read."""
        body = exchange.request.body
        if exchange.request.operation not in (CREATE_RESPONSE, SOCKET) or not isinstance(body, dict):
            return None
        previous, conversation = body.get("previous_response_id"), conversation_id(body)
        chain, id = (self.after, previous) if isinstance(previous, str) else (self.conversations, conversation or "")
        held = chain.get(id, ())
        given = list(self._given(body))
        before = [one for item in held if (one := key(item))]
        keys = [*before, *(one for _, item in given if (one := key(item)))]
        chained = previous is not None or conversation is not None
        known = not chained or id in chain
        return Asked(exchange.number, body, held, given, known, chained, keys, len(before))

    def _given(self, body: Json) -> Iterator[tuple[str, Json]]:
        own: dict[str, Json] = {}
        for index, item in enumerate(input_items(body)):
            if not isinstance(item, dict):
                continue
            at = f"input[{index}]" if isinstance(body["input"], list) else "input"
            id = as_string(item.get("id"))
            if kind(item) == "item_reference" or (id and set(item) <= {"id", "type"} and not kind(item)):
                item = own.get(id) or self.items.get(id) or item
            elif id:
                own[id] = item
            yield at, item

    def hear(self, exchange: Exchange, asked: Asked | None) -> None:
        """Take in what was answered, and what a request that was taken has stored."""
        answer = exchange.answer.body
        if exchange.status != 200 or not isinstance(answer, dict):
            return
        id, operation = as_string(answer.get("id")), exchange.request.operation
        if asked:
            self._sent(asked)
            self.pending[id] = asked
        if id in self.pending and operation in (CREATE_RESPONSE, SOCKET, RETRIEVE):
            self._told(exchange, answer, self.pending[id])
        elif operation in (CONVERSE, ADD, REMOVE):
            self._converse(exchange, answer)

    def _sent(self, asked: Asked) -> None:
        for _, item in asked.given:
            if id := as_string(item.get("id")):
                self.items.setdefault(id, item)
            if call_id := output_of(item):
                self.outputs.setdefault(call_id, []).append((asked.number, item))

    def _told(self, exchange: Exchange, answer: Json, asked: Asked) -> None:
        id, status, output = (
            as_string(answer.get("id")),
            _status(exchange, answer),
            list(objects_in(answer.get("output"))),
        )
        transcript = self.after[id] = [*asked.items, *output]
        if status in PENDING:
            return
        del self.pending[id]
        if status not in BROKEN and (conversation := conversation_id(asked.body)) in self.conversations:
            self.conversations[conversation or ""] = transcript
        reply = Reply(exchange.number, asked, output, status)
        self.replies.append(reply)
        self.by_input.setdefault(hashed(asked.keys), []).append(reply)
        before = Counter(asked.keys)
        for index, item in enumerate(output):
            self._spoken(Spoken(item, reply, index), before)

    def _spoken(self, said: Spoken, before: Counter[Key]) -> None:
        item, known = said.item, key(said.item)
        if known:
            self.times[known] += 1 + (before[known] if known not in self.times else 0)
        if id := as_string(item.get("id")):
            self.items[id] = item
            self.by_id.setdefault(id, said)
        if call_id := call_of(item):
            for name in {call_id, id} - {""}:  # some send the `id` of a call as its `call_id`
                self.by_call.setdefault(name, []).append(said)
        parts = item.get("content") if is_assistant(item) else ()
        several = objects_in(parts) if isinstance(parts, list) and len(parts) > 1 else ()
        for one in (said, *(Spoken({**item, "content": [part]}, said.reply, said.index) for part in several)):
            if words := text_of(one.item).strip():
                self.by_text.setdefault(words, []).append(one)

    def _converse(self, exchange: Exchange, answer: Json) -> None:
        request = exchange.request
        id = request.params.get("conversation_id", as_string(answer.get("id")))
        if request.operation == CONVERSE:
            body = request.body if isinstance(request.body, dict) else {}
            self.conversations[id] = list(objects_in(body.get("items")))
        elif request.operation == ADD and id in self.conversations:
            self.conversations[id] = [*self.conversations[id], *objects_in(answer.get("data"))]
        elif id in self.conversations:
            kept = [item for item in self.conversations[id] if item.get("id") != request.params["item_id"]]
            if len(kept) < len(self.conversations[id]):
                self.conversations[id] = kept
            else:
                del self.conversations[id]  # which of them is gone is not told

    def origins(self, item: Json) -> Sequence[Spoken]:
        """What the model said that an item repeats: by its id, else by its `call_id`, else by its words."""
        said = self.by_id.get(as_string(item.get("id")))
        if said and kind(said.item) == kind(item):
            return [said]
        if call_id := call_of(item):
            return self.by_call.get(call_id, ())
        return self.by_text.get(text_of(item).strip(), ()) if is_assistant(item) else ()

    def origin(self, item: Json) -> Spoken | None:
        """The one thing that the model said and an item repeats; None where there are several, or none."""
        found = self.origins(item)
        return found[0] if len(found) == 1 else None

    def key(self, item: Json) -> Key | None:
        """What an item is, by what the model said if it has the id of that."""
        said = self.origins(item) if call_of(item) or as_string(item.get("id")) in self.by_id else ()
        return key(said[-1].item if said else item)

    def continued(self, asked: Asked) -> tuple[Sequence[Reply], int]:
        """The replies to the longest beginning of a transcript, and how many of its keys that is; none and 0."""
        found: tuple[Sequence[Reply], int] = ((), 0)
        whole = hashed(())
        for length, one in enumerate(asked.keys, 1):
            whole = hash((whole, one))
            if length < len(asked.keys) and whole in self.by_input:
                found = self.by_input[whole], length
        return found


def _status(exchange: Exchange, answer: Json) -> str:
    """How a response ended; one in the background goes on when its answer breaks off."""
    broke = None if answer.get("background") else exchange.answer.disconnection
    return broke or as_string(answer.get("status"))


def hashed(keys: Iterable[Hashable]) -> int:
    """One number for a sequence, which can be made longer step by step."""
    whole = hash(())
    for one in keys:
        whole = hash((whole, one))
    return whole


def answers_in(exchanges: Sequence[Exchange]) -> frozenset[str]:
    """The ids of all calls and approval requests that a request answers."""
    bodies = (one.request.body for one in exchanges if one.request.operation in (CREATE_RESPONSE, SOCKET))
    items = (item for body in bodies if isinstance(body, dict) for item in objects_in(input_items(body)))
    return frozenset(filter(None, map(output_of, items)))


def key(item: Json) -> Key | None:
    """What an item is, loosely; None for instructions, reasoning and what only the API executes."""
    if kind(item) == MESSAGE:
        role = as_string(item.get("role"))
        return None if role in SPEAKERS else (role, text_of(item).strip())
    if call_id := call_of(item):
        return "call", call_id
    return ("output", call_id) if (call_id := output_of(item)) else None


def kind(item: Json) -> str:
    """The type of an item; a message may go without."""
    return as_string(item.get("type")) or (MESSAGE if "role" in item else "")


def is_assistant(item: Json) -> bool:
    """Whether an item is a message of the assistant."""
    return item.get("role") == "assistant" and kind(item) == MESSAGE


def call_of(item: Json) -> str:
    """The `call_id` of a call that the client executes, the id of a request for its approval; else empty."""
    if kind(item) == APPROVAL:
        return as_string(item.get("id"))
    return (
        as_string(item.get("call_id")) if kind(item) in CLIENT_CALL_NAMES and item.get("execution") != "server" else ""
    )


def output_of(item: Json) -> str:
    """What an output or an approval answers, by its id; empty for other items."""
    if kind(item) == APPROVED:
        return as_string(item.get("approval_request_id"))
    return answered_call_id(item) or "" if kind(item) in CALL_OF_OUTPUT else ""


def text_of(item: Json) -> str:
    """The words of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(as_string(part.get("text")) or as_string(part.get("refusal")) for part in objects_in(content))


def named(item: Json) -> str:
    """An item in a few words: its type, its name and call, or how it begins."""
    label = " ".join(filter(None, (kind(item), as_string(item.get("name")))))
    if id := call_of(item) or output_of(item):
        return f"{label} ({id})"
    words = text_of(item) if kind(item) == MESSAGE else ""
    if words:
        return f"message {quote(' '.join(words.split()))}"
    return f"{label} ({as_string(item.get('id'))})" if as_string(item.get("id")) else label


def repeated(keys: Sequence[Key]) -> Counter[tuple[Key, Key]]:
    """How often each item follows the same other."""
    return Counter(pairwise(keys))
