"""What the requests of a journal send: the items of their input, and those that are written into conversations."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from harness.analysis.history.items import answered_id, is_assistant, item_type, message_text
from harness.analysis.history.request import PlacedItem
from harness.api.responses import SOCKET
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Exchange
from harness.core.json_values import as_object, as_string, objects_in
from harness.items.transcript import conversation_id, input_items

RETRIEVE_RESPONSE = "GET /responses/{response_id}"
CREATE_CONVERSATION = "POST /conversations"
CREATE_ITEMS = "POST /conversations/{conversation_id}/items"
DELETE_ITEM = "DELETE /conversations/{conversation_id}/items/{item_id}"
CANCEL_RESPONSE = "POST /responses/{response_id}/cancel"
COMPACT = "POST /responses/compact"
ASKS, WRITES = (CREATE_RESPONSE, SOCKET), (CREATE_CONVERSATION, CREATE_ITEMS)
"""The operations that ask the model, and those that write items which it is asked about later."""


class SentItems(NamedTuple):
    """What the requests of a journal send back; `last_writes` are the exchanges that write what no request reads later.

    `left` are those whose answer the client did not take, and of which it sends nothing back.
    """

    answered_ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    message_ids: frozenset[str] = frozenset()
    last_writes: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()


def collect_sent(exchanges: Sequence[Exchange], left: Collection[int] = ()) -> SentItems:
    """Collect what the requests of a journal send back: their input, and what they write into conversations."""
    items = [item for exchange in exchanges for _, item in sent_items(exchange)]
    messages = [item for item in items if is_assistant(item) or item_type(item) in ("item_reference", "")]
    sent = SentItems(
        frozenset(filter(None, map(answered_id, items))),
        frozenset(message_text(item).strip() for item in messages),
        frozenset(as_string(item.get("id")) for item in messages) - {""},
        frozenset(_last_writes(exchanges).values()),
    )
    return sent._replace(left=frozenset(_find_left(exchanges, sent, left))) if left else sent


def _find_left(exchanges: Sequence[Exchange], sent: SentItems, left: Collection[int]) -> Iterator[int]:
    """Yield the exchanges whose answer the client left, unless it continues the response or sends back a part of it."""
    continued = {as_object(exchange.request.body).get("previous_response_id") for exchange in exchanges}
    for exchange in exchanges:
        answer = as_object(exchange.answer.body)
        if exchange.number in left and answer.get("id") not in continued:
            items = objects_in(answer.get("output"))
            texts = {message_text(item).strip() for item in items if is_assistant(item)} - {""}
            ids = {as_string(item.get(name)) for item in items for name in ("id", "call_id")}
            if sent.texts.isdisjoint(texts) and (sent.message_ids | sent.answered_ids).isdisjoint(ids):
                yield exchange.number


def sent_items(exchange: Exchange) -> Iterator[PlacedItem]:
    """Yield the items that a request sends, each with its place."""
    operation, body = exchange.request.operation, exchange.request.body
    if not isinstance(body, dict):
        return
    if operation in WRITES:
        items = body.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield f"items[{index}]", item
    elif operation in (*ASKS, COMPACT):
        for index, item in enumerate(input_items(body)):
            if isinstance(item, dict):
                yield f"input[{index}]" if isinstance(body["input"], list) else "input", item


def _last_writes(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """Return the last exchange that writes into each conversation, unless a request reads it later."""
    found: dict[str, int] = {}
    for exchange in exchanges:
        if exchange.status != 200 or not isinstance(exchange.request.body, dict):
            continue
        if exchange.request.operation in WRITES and exchange.request.body.get("items"):
            found[touched_conversation(exchange)] = exchange.number
        elif exchange.request.operation in ASKS:
            found.pop(conversation_id(exchange.request.body) or "", None)
    return found


def touched_conversation(exchange: Exchange) -> str:
    """Return the id of the conversation that a request creates, writes or deletes an item of."""
    return exchange.request.params.get("conversation_id") or as_string(as_object(exchange.answer.body).get("id"))
