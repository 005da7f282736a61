"""The history before each request of a journal: the items it sends and continues, and the output that they repeat.

Requests may be malformed: values that are not items are skipped. Items are recognized by `id`, `call_id` or text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.analysis.history.items import (
    ItemKey,
    client_call_id,
    is_assistant,
    item_key,
    item_type,
    message_text,
)
from harness.analysis.history.request import (
    FAILED_OR_CUT_OFF,
    LEFT,
    NO_ITEMS,
    HistoryReply,
    HistoryRequest,
    KnownItems,
    OutputItem,
    PlacedItem,
    SaidText,
)
from harness.analysis.history.sent_items import (
    ASKS,
    CANCEL_RESPONSE,
    COMPACT,
    CREATE_CONVERSATION,
    CREATE_ITEMS,
    DELETE_ITEM,
    RETRIEVE_RESPONSE,
    WRITES,
    SentItems,
    sent_items,
    touched_conversation,
)
from harness.analysis.history.text_index import JoinedTexts, SimilarTexts, TextIndex, letters_of
from harness.analysis.history.tool_results import ToolResults, output_text
from harness.api.encrypted_content import make_announced_content
from harness.api.responses import PENDING_STATUSES
from harness.core.exchange import Exchange, Json, SentTurn
from harness.core.json_values import as_object, as_string, objects_in, omit
from harness.items.transcript import conversation_id

Agent = tuple[frozenset[str], str]  # the tools and instructions of a request
CONTINUATION = ("input", "previous_response_id", "conversation")
"""The members of a request that say what the model reads."""


@dataclass(slots=True)
class _Written:
    """What a client has written into a conversation since the model was last asked, and the items `before`."""

    before: KnownItems
    items: list[PlacedItem] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """What was sent and answered before a request; `sent` is what any request of the journal sends back.

    `turns` are the turns of chat UIs whose server under test makes the requests. `by_ciphertext` maps each
    `encrypted_content` to its item, `announced` the one with which a stream adds the item, `by_summary` the letters
    of a summary, and of each of its parts, `by_joined` the letters of all messages of an answer in phases to the
    first, `by_previous` each `previous_response_id` to the replies. `call_outputs` maps each call to its outputs by
    text, the latest last, each with the number of its exchange. `doubled_prompts` are the replies to requests that
    end with the same message twice, by the hash of the keys before the repetition. `open_calls` are the calls of
    completed responses that no request answers, by `call_id`. `cited` finds messages with annotations by a similar
    text, `joined` by a text that begins or ends with theirs, `messages` those that contain a text. `agents` are
    the tools and instructions of the requests that got a reply, each with the number of its agent, `lanes` the agent
    of each request. `written` has what the client wrote into each conversation that no request has read yet.
    """

    sent: SentItems = field(default_factory=SentItems)
    tool_results: ToolResults = field(default_factory=ToolResults)
    turns: Sequence[SentTurn] = ()
    replies: list[HistoryReply] = field(default_factory=list)
    by_id: dict[str, OutputItem] = field(default_factory=dict)
    by_ciphertext: dict[str, OutputItem] = field(default_factory=dict)
    announced: dict[str, OutputItem] = field(default_factory=dict)
    by_summary: dict[str, OutputItem] = field(default_factory=dict)
    by_call: dict[str, list[OutputItem]] = field(default_factory=dict)
    by_text: dict[str, SaidText] = field(default_factory=dict)
    by_joined: dict[str, OutputItem] = field(default_factory=dict)
    by_previous: dict[str, list[HistoryReply]] = field(default_factory=dict)
    open_calls: dict[str, OutputItem] = field(default_factory=dict)
    cited: SimilarTexts[OutputItem] = field(default_factory=SimilarTexts)
    joined: JoinedTexts = field(default_factory=JoinedTexts)
    messages: TextIndex = field(default_factory=TextIndex)
    compactions: list[OutputItem] = field(default_factory=list)
    agents: dict[Agent, int] = field(default_factory=dict)
    lanes: dict[int, int] = field(default_factory=dict)
    last_lane: int = 0
    by_input: dict[int, list[HistoryReply]] = field(default_factory=dict)
    doubled_prompts: dict[int, HistoryReply] = field(default_factory=dict)
    call_outputs: dict[str, dict[str, tuple[int, Json]]] = field(default_factory=dict)
    allowed_counts: Counter[ItemKey] = field(default_factory=Counter)
    pending_requests: dict[str, HistoryRequest] = field(default_factory=dict)
    transcripts: dict[str, KnownItems] = field(default_factory=dict)
    conversations: dict[str, KnownItems] = field(default_factory=dict)
    written: dict[str, _Written] = field(default_factory=dict)
    items: dict[str, Json] = field(default_factory=dict)

    def read_request(self, exchange: Exchange) -> HistoryRequest | None:
        """Read what a request sends to the model, and find its agent; None if it sends nothing.

        What is written into a conversation is read with the request that first asks about it. If none does, it is read
        with the last write, as if the only agent so far were to be asked.
        """
        if request := self._read(exchange):
            if withheld := objects_in(as_object(exchange.answer.body).get("input_transformations")):
                request = replace(request, withheld=withheld)
            self.lanes[request.number] = self._find_lane(request)
        return request

    def _read(self, exchange: Exchange) -> HistoryRequest | None:
        body, operation = exchange.request.body, exchange.request.operation
        if not isinstance(body, dict):
            return None
        sent = list(self._resolve_references(sent_items(exchange)))
        if operation in (*ASKS, COMPACT):
            previous, conversation = body.get("previous_response_id"), conversation_id(body)
            if operation == COMPACT:
                body = {**self._assumed_members(), **body}
            if isinstance(previous, str) or conversation is None:
                is_known = previous is None or as_string(previous) in self.transcripts
                continued = self.transcripts.get(as_string(previous), NO_ITEMS)
                is_asked = operation != COMPACT
                return HistoryRequest(exchange.number, body, continued, sent, is_known, previous is not None, is_asked)
            return self._read_with_written(exchange.number, body, conversation, sent)
        if exchange.number not in self.sent.last_writes:
            return None
        id = touched_conversation(exchange)
        return self._read_with_written(exchange.number, self._assumed_members(), id, sent, is_asked=False)

    def _read_with_written(
        self, number: int, body: Json, conversation: str, sent: Sequence[PlacedItem], *, is_asked: bool = True
    ) -> HistoryRequest:
        """Read a request that continues a conversation, with the items written there since the last request."""
        written = self.written.get(conversation) or _Written(self.conversations.get(conversation, NO_ITEMS))
        is_known = conversation in self.conversations
        is_chained = bool(written.before.items) or not is_known
        return HistoryRequest(number, body, written.before, [*written.items, *sent], is_known, is_chained, is_asked)

    def _assumed_members(self) -> Json:
        """Return the members that a request to the only agent so far would have; empty if there are several agents."""
        last = self.replies[-1].request.body if len({*self.agents.values()}) == 1 else {}
        return omit(last, *CONTINUATION)

    def _resolve_references(self, sent: Iterable[PlacedItem]) -> Iterator[PlacedItem]:
        own: dict[str, Json] = {}
        for place, item in sent:
            id = as_string(item.get("id"))
            if item_type(item) == "item_reference" or (id and set(item) <= {"id", "type"} and not item_type(item)):
                # A reference may name an item of the same request, which comes before what is stored.
                yield place, own.get(id) or self.items.get(id) or item
            else:
                if id:
                    own[id] = item
                yield place, item

    def add_exchange(self, exchange: Exchange, request: HistoryRequest | None) -> None:
        """Record an answer and the input of its request, if it was accepted."""
        answer = exchange.answer.body
        if exchange.status != 200 or not isinstance(answer, dict):
            return
        id, operation = as_string(answer.get("id")), exchange.request.operation
        if request:
            self._add_input(request)
        if request and operation == COMPACT:
            made = [item for item in objects_in(answer.get("output")) if item_type(item) == "compaction"]
            for item in made:
                self._index_output(OutputItem(item, HistoryReply(exchange.number, request, made, "completed"), 0))
        if request and operation in ASKS:
            self.pending_requests[id] = request
            self.written.pop(conversation_id(request.body) or "", None)
        if id in self.pending_requests and operation in (*ASKS, RETRIEVE_RESPONSE):
            self._add_response(exchange, answer, self.pending_requests[id])
        elif operation == CANCEL_RESPONSE and answer.get("status") == "cancelled":
            self.pending_requests.pop(id, None)
        elif operation in (*WRITES, DELETE_ITEM):
            self._update_conversation(exchange, answer)

    def _add_input(self, request: HistoryRequest) -> None:
        for _, item in request.placed_items:
            if id := as_string(item.get("id")):
                self.items.setdefault(id, item)
        for _, call_id, item in request.outputs:
            sent, text = self.call_outputs.setdefault(call_id, {}), output_text(item)
            sent.pop(text, None)
            sent[text] = (request.number, item)

    def _add_response(self, exchange: Exchange, answer: Json, request: HistoryRequest) -> None:
        id, output = as_string(answer.get("id")), objects_in(answer.get("output"))
        # A background response continues even if the connection is lost.
        disconnection = "" if answer.get("background") else exchange.answer.disconnection
        status = disconnection or (LEFT if exchange.number in self.sent.left else as_string(answer.get("status")))
        self.transcripts[id] = request.transcript.extend(output)
        if status in PENDING_STATUSES:
            return
        del self.pending_requests[id]
        conversation = conversation_id(request.body) or ""
        if status not in FAILED_OR_CUT_OFF and (known := self.conversations.get(conversation)):
            asked = [item for place, item in request.placed_items if place.startswith("input")]
            is_next = request.previous is known and len(asked) == len(request.placed_items)
            # What has grown already is not copied.
            self.conversations[conversation] = self.transcripts[id] if is_next else known.extend([*asked, *output])
        reply = HistoryReply(exchange.number, request, output, status)
        self.replies.append(reply)
        self.agents[request.agent] = lane = self.lanes[request.number]
        self.last_lane = max(self.last_lane, lane)
        self.by_input.setdefault(request.digests[-1], []).append(reply)
        if not request.is_chained and request.item_keys[-1:] == request.item_keys[-2:-1] != []:
            self.doubled_prompts[request.digests[-2]] = reply
        self.by_previous.setdefault(as_string(request.body.get("previous_response_id")), []).append(reply)
        for index, item in enumerate(output):
            self._index_output(OutputItem(item, reply, index))
        said = [(index, item) for index, item in enumerate(output) if is_assistant(item)]
        if len(said) > 1 and all(item.get("phase") for _, item in said):
            (index, item), joined = said[0], "".join(message_text(item) for _, item in said)
            self.by_joined[letters_of(joined)] = OutputItem(item, reply, index)

    def _index_output(self, output: OutputItem) -> None:
        item, key = output.item, item_key(output.item)
        if key:
            # An equal item that stood in the request before the model produced this one may stay there.
            known = 0 if key in self.allowed_counts else output.reply.request.item_keys.count(key)
            self.allowed_counts[key] += 1 + known
        if id := as_string(item.get("id")):
            self.items[id] = item
            self.by_id.setdefault(id, output)
        if item_type(item) == "compaction":
            self.compactions.append(output)
        if ciphertext := as_string(item.get("encrypted_content")):
            self.by_ciphertext.setdefault(ciphertext, output)
            self.announced.setdefault(make_announced_content(ciphertext), output)
        summary = [as_string(part.get("text")) for part in objects_in(item.get("summary"))]
        for text in (*summary, "".join(summary)):
            self.by_summary.setdefault(letters_of(text), output)
        if call_id := client_call_id(item):
            for name in {call_id, id} - {""}:  # some send the `id` of a call as its `call_id`
                self.by_call.setdefault(name, []).append(output)
            if output.reply.is_completed and not item.get("async") and self.sent.answered_ids.isdisjoint((call_id, id)):
                self.open_calls[call_id] = output
            else:
                self.open_calls.pop(call_id, None)
        parts = item.get("content") if is_assistant(item) else ()
        single = objects_in(parts) if isinstance(parts, list) and len(parts) > 1 else ()
        # A client may send back each part as a message of its own.
        alone = [OutputItem({**item, "content": [part]}, output.reply, output.index) for part in single]
        for spoken in (output, *alone):
            if text := message_text(spoken.item).strip():
                self.by_text.setdefault(text, SaidText()).add(spoken)
                if spoken.annotation_count:
                    self.cited.add(text, spoken)
                    self.joined.add(text)

    def _update_conversation(self, exchange: Exchange, answer: Json) -> None:
        request, id = exchange.request, touched_conversation(exchange)
        if request.operation in WRITES:
            sent = [(f"{exchange.number}/{place}", item) for place, item in sent_items(exchange)]
            written = self.written.setdefault(id, _Written(self.conversations.get(id, NO_ITEMS)))
            written.items.extend(self._resolve_references(sent))
        if request.operation == CREATE_CONVERSATION:
            self.conversations[id] = NO_ITEMS.extend([item for _, item in sent_items(exchange)])
        elif request.operation == CREATE_ITEMS and id in self.conversations:
            self.conversations[id] = self.conversations[id].extend(objects_in(answer.get("data")))
        elif request.operation == DELETE_ITEM and id in self.conversations:
            self.written.pop(id, None)
            known = self.conversations[id].items
            remaining = [item for item in known if item.get("id") != request.params["item_id"]]
            if len(remaining) < len(known):
                self.conversations[id] = NO_ITEMS.extend(remaining)
            else:
                del self.conversations[id]  # it is unknown which item was deleted

    def find_originals(self, item: Json) -> Sequence[OutputItem]:
        """Find the output items that an item repeats, by `id`, else by `call_id`, else by text."""
        if original := self._find_by_id(item):
            return [original]
        if call_id := client_call_id(item):
            return self.by_call.get(call_id, ())
        said = self.by_text.get(message_text(item).strip()) if is_assistant(item) else None
        return said.originals if said else ()

    def _find_by_id(self, item: Json) -> OutputItem | None:
        original = self.by_id.get(as_string(item.get("id")))
        return original if original and item_type(original.item) == item_type(item) else None

    def find_said(self, message: Json) -> SaidText | None:
        """Find the text that an assistant message repeats, by id or else by text; None if not found."""
        if original := self._find_by_id(message):
            return SaidText().add(original)
        return self.by_text.get(message_text(message).strip())

    def is_only_agent(self, request: HistoryRequest) -> bool:
        """Return whether all replies so far went to the agent of this request."""
        own = self._find_lane(request)
        return all(lane == own for lane in self.agents.values())

    def is_same_agent(self, one: HistoryRequest, other: HistoryRequest) -> bool:
        """Return whether two requests come from the same agent."""
        return self.lanes[one.number] == self.lanes[other.number]

    def _find_lane(self, request: HistoryRequest) -> int:
        """Find the number of an agent: of the same tools and instructions, else of the answer that it sends back."""
        if (lane := self.agents.get(request.agent)) is not None:
            return lane
        texts = {key[1] for key in request.item_keys}
        for length in range(len(request.item_keys) - 1, 0, -1):
            for reply in self.by_input.get(request.digests[length], ()):
                before, said = reply.request, {key[1] for key in map(item_key, reply.output) if key}
                if before.masked_instructions == request.masked_instructions and not texts.isdisjoint(said):
                    # Without instructions an agent is known by having tools; a hand-off leads to other tools in a loop.
                    is_loop = request.item_keys[-1][0] == "output"
                    is_known = request.masked_instructions.strip() or (before.tool_names and request.tool_names)
                    if before.tool_names & request.tool_names or (is_known and not is_loop):
                        return self.agents[before.agent]
        return 1 + self.last_lane

    def find_original(self, item: Json) -> OutputItem | None:
        """Find the only output item that an item repeats; None if there are several or none."""
        found = self.find_originals(item)
        return found[0] if len(found) == 1 else None

    def find_output(self, item: Json) -> OutputItem | None:
        """Find the only output item that an item repeats, reasoning also by its `encrypted_content`."""
        return self.find_original(item) or self.by_ciphertext.get(as_string(item.get("encrypted_content")))

    def find_call(self, call_id: str) -> OutputItem | None:
        """Find the only call with this id; None if there are several or none."""
        found = self.by_call.get(call_id, ())
        return found[0] if len(found) == 1 else None

    def original_key(self, item: Json, sent_key: ItemKey | None) -> ItemKey | None:
        """Return the key of the output item that an item repeats by `id` or `call_id`, else its own `sent_key`."""
        originals = self.find_originals(item) if client_call_id(item) or as_string(item.get("id")) in self.by_id else ()
        return item_key(originals[-1].item) if originals else sent_key

    def find_continued(self, request: HistoryRequest) -> tuple[Sequence[HistoryReply], int]:
        """Find the replies to the longest prefix of a transcript, and its number of keys; empty and 0 without any."""
        for length in range(len(request.item_keys) - 1, 0, -1):
            if replies := self.by_input.get(request.digests[length]):
                return replies, length
        return (), 0
