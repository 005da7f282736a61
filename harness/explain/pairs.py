"""The calls of a request without an output, and the outputs without a call, with the exchange that said each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.approval_ledger import APPROVAL_REQUEST, APPROVAL_RESPONSE
from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, item_type
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.core.exchange import Json
from harness.items.kind import CALL_OF_OUTPUT

APPROVAL_TYPES = (APPROVAL_REQUEST, APPROVAL_RESPONSE)


class PlacedItem(NamedTuple):
    """An item at its place in a request, `input` where an earlier response or a conversation holds it.

    `origin` is the output item that said the call; `other_kind` the type of a call whose `call_id` an output has, but
    which takes another kind of output.
    """

    place: str
    item: Json
    origin: OutputItem | None
    other_kind: str = ""


class Pairs(NamedTuple):
    """What of a transcript has no counterpart, in order."""

    open_calls: Sequence[PlacedItem] = ()
    orphans: Sequence[PlacedItem] = ()


def find_pairs(history: History, request: HistoryRequest | None) -> Pairs:
    """The calls and outputs of a request and of what it continues that have no counterpart."""
    if request is None:
        return Pairs()
    placed = [*(("input", item) for item in request.previous_items), *request.placed_items]
    calls = {(item_type(item), id): place for place, item in placed if (id := client_call_id(item))}
    answered = {key for _, item in placed for key in _answered_calls(item)}
    open_calls = [
        PlacedItem(place, item, find_origin(history, id))
        for place, item in placed
        if (id := client_call_id(item)) and (item_type(item), id) not in answered and not item.get("async")
    ]
    types_by_id = {id: type for type, id in calls}
    orphans = [
        PlacedItem(place, item, find_origin(history, id), types_by_id.get(id, ""))
        for place, item in placed
        if (id := answered_id(item)) and not any(key in calls for key in _answered_calls(item))
    ]
    return Pairs(open_calls, orphans)


def find_origin(history: History, id: str) -> OutputItem | None:
    """The output item with this id or `call_id`."""
    return history.by_id.get(id) or next(iter(history.by_call.get(id, ())), None)


def _answered_calls(item: Json) -> Iterator[tuple[str, str]]:
    """The type and the id of the call that an item answers; an approved call of an MCP server answers its request."""
    if id := item.get("approval_request_id"):
        yield APPROVAL_REQUEST, str(id)
    elif id := answered_id(item):
        yield CALL_OF_OUTPUT[item_type(item)], str(id)
