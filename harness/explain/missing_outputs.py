"""Finds the calls in a request without an output and the outputs without a call, with the exchange of each call."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, describe_item, item_type
from harness.analysis.history.request import OutputItem
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_string
from harness.items.kind import CALL_OF_OUTPUT
from harness.items.transcript import APPROVAL_REQUEST, APPROVAL_RESPONSE

_UNANSWERED_RULES = ("call_needs_output", "approval_request_unanswered")
_ORPHAN_RULES = ("output_needs_call", "approval_without_request")
_APPROVAL_RULES = ("approval_request_unanswered", "approval_without_request")
PAIRING_RULES = (*_UNANSWERED_RULES, *_ORPHAN_RULES)
"""The rules that refuse a request because of such items."""
_APPROVAL_TYPES = (APPROVAL_REQUEST, APPROVAL_RESPONSE)


class UnpairedItem(NamedTuple):
    """A call without an output, or an output without a call, and its place in a request.

    The place is `input` if the item comes from an earlier response or a conversation. `origin` is the output item that
    made the call; `other_kind` the type of a call that has the `call_id` of this output, but takes another kind of
    output. An output `is_second` if another one answers its call, a call if another one has its id and its output.
    `output_of_id` is the place of an output that names the `id` of this call in place of its `call_id`.
    """

    place: str
    item: Json
    origin: OutputItem | None
    other_kind: str = ""
    is_second: bool = False
    output_of_id: str = ""

    @property
    def call_id(self) -> str | None:
        """The id of the call that the item is or answers."""
        return client_call_id(self.item) or answered_id(self.item)

    @property
    def is_approval(self) -> bool:
        """Whether the item is an approval request or an answer to one."""
        return item_type(self.item) in _APPROVAL_TYPES


def find_unpaired(rule: str | None, history: History, exchange: Exchange) -> Sequence[UnpairedItem]:
    """Find the calls without output, or outputs without call, in a refused request and what it continues."""
    if rule not in PAIRING_RULES or not (request := history.read_request(exchange)):
        return ()
    placed = [*(("input", item) for item in request.previous.items), *request.placed_items]
    items = _find_open_calls(placed, history) if rule in _UNANSWERED_RULES else _find_orphans(placed, history)
    return [item for item in items if item.is_approval == (rule in _APPROVAL_RULES)]


def find_origin(history: History, id: str) -> OutputItem | None:
    """Find the output item with this id or `call_id`."""
    return history.by_id.get(id) or next(iter(history.by_call.get(id, ())), None)


def describe_unpaired(rule: str | None, items: Sequence[UnpairedItem]) -> str:
    """Describe every call without an output and its exchange, or every output without a call."""
    if rule in _UNANSWERED_RULES:
        return _describe_open_calls(items)
    return "; ".join(
        f"{item.place}: {describe_item(item.item)} answers {_describe_missing_call(item)}" for item in items
    )


def describe_origin(origin: OutputItem | None) -> str:
    """Name the exchange in which the model produced an item, as an addition to the item's description."""
    return f" from exchange {origin.number}" if origin else ", which no exchange of this test produced"


def _find_open_calls(placed: Sequence[tuple[str, Json]], history: History) -> Iterator[UnpairedItem]:
    outputs = Counter(key for _, item in placed for key in _answered_calls(item))
    answered = set(outputs)
    answers = {answered_id(item): place for place, item in placed}
    for place, item in placed:
        if not (id := client_call_id(item)) or item.get("async"):
            continue
        if not outputs[key := (item_type(item), id)]:
            origin = find_origin(history, id)
            output_of_id = answers.get(as_string(origin.item.get("id")), "") if origin else ""
            yield UnpairedItem(place, item, origin, is_second=key in answered, output_of_id=output_of_id)
        # An output answers one call; a response and the call that it led to answer one approval request.
        elif key[0] != APPROVAL_REQUEST:
            outputs[key] -= 1


def _find_orphans(placed: Sequence[tuple[str, Json]], history: History) -> Iterator[UnpairedItem]:
    calls = Counter((item_type(item), id) for _, item in placed if (id := client_call_id(item)))
    types_by_id = {id: type for type, id in calls}
    for place, item in placed:
        keys = [key for key in _answered_calls(item) if key in calls]
        if (id := answered_id(item)) and not any(calls[key] for key in keys):
            other_kind = "" if keys else types_by_id.get(id, "")
            yield UnpairedItem(place, item, find_origin(history, id), other_kind, is_second=bool(keys))
        calls.subtract(key for key in keys if key[0] != APPROVAL_REQUEST)


def _answered_calls(item: Json) -> Iterator[tuple[str, str]]:
    """Yield the type and id of the call that an item answers; an approved MCP call answers its approval request."""
    if id := item.get("approval_request_id"):
        yield APPROVAL_REQUEST, str(id)
    elif id := answered_id(item):
        yield CALL_OF_OUTPUT[item_type(item)], str(id)


def _describe_open_calls(calls: Sequence[UnpairedItem]) -> str:
    groups: dict[str, list[str]] = {}
    for call in calls:
        groups.setdefault(describe_origin(call.origin), []).append(describe_item(call.item))
    listed = "; ".join(f"{', '.join(names)}{origin}" for origin, names in groups.items())
    missing = "answer" if calls[0].is_approval else "output"
    if len(calls) == 1:
        if calls[0].is_second:
            verb = f"repeats a `call_id` whose only {missing} is that of an earlier call: send each call once"
        else:
            misnamed = calls[0].output_of_id
            verb = f"has no {missing} in this request" + (
                f": {misnamed} names its `id`, not `call_id`" if misnamed else ""
            )
        return f"{calls[0].place}: {listed}{'' if calls[0].origin else ','} {verb}"
    places = ", ".join(dict.fromkeys(call.place for call in calls))
    noun = "approval requests" if calls[0].is_approval else "calls"
    return f"{places}: {len(calls)} {noun} have no {missing} in this request: {listed}"


def _describe_missing_call(output: UnpairedItem) -> str:
    if output.is_second:
        return f"`{output.call_id}`, which another output answers already: send each output once"
    if output.other_kind:
        return f"the {output.other_kind} with this `call_id`, which takes another kind of output"
    if output.origin:
        return f"{describe_item(output.origin.item)}{describe_origin(output.origin)}, which this request omits"
    member = "approval_request_id" if output.is_approval else "call_id"
    return f"an unknown `{member}`: no exchange of this test produced it"
