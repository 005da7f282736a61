"""The steps of a flow: the new input items of each exchange, and the new output items of its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import NamedTuple

from harness.analysis.lanes import INSTRUCTION_ROLES, HandOff, LaneExchange, asks_model
from harness.core.exchange import Answer, Exchange, Json, Request, answer_error
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import item_text, summarize_item
from harness.items.transcript import conversation_id, input_items

MAX_ITEMS = 12
"""The maximum number of new items shown per request; of more, the last ones are shown."""
_UNREMARKABLE_STATUSES = ("completed", "requires_action")
"""Statuses that are not shown because the items of the answer already imply them."""


class FlowStep(NamedTuple):
    """An exchange of a flow, without the items that its lane had sent or received before.

    `status` is that of an unfinished response, `failure` the error of a refused request, `endpoint` the method and path
    of a request that is not `POST /responses`; each is empty otherwise.
    """

    number: int
    lane: str
    new_items: Sequence[Json]
    output_items: Sequence[Json]
    status: str = ""
    failure: str = ""
    endpoint: str = ""
    hand_off: HandOff | None = None


def build_steps(sent: Sequence[LaneExchange]) -> Iterator[FlowStep]:
    """Build the steps of exchanges that were assigned to lanes."""
    all_outputs: Counter[_Key] = Counter()
    sent_by_lane: dict[str, _SentItems] = {}
    known_ids: set[str] = set()
    for exchange, lane, hand_off in sent:
        request, answer = exchange.request, exchange.answer
        before = sent_by_lane.get(lane, _SentItems())
        items = _request_items(request)
        now = _SentItems(items, before.keys_of(items))
        body = as_object(request.body)
        is_chained = body.get("previous_response_id") or conversation_id(body)
        # A chained request sends nothing but new items.
        new_items = items if is_chained else now.beyond(Counter(before.keys), all_outputs, known_ids)
        output = [item for item in _answer_items(answer) if _item_id(item) not in known_ids]
        endpoint = "" if asks_model(request) else f"{request.method} {request.path}"
        yield FlowStep(
            exchange.number, lane, new_items, output, _status_line(answer), _failure_line(exchange), endpoint, hand_off
        )
        if asks_model(request):
            sent_by_lane[lane] = now
        all_outputs.update(map(_item_key, output))
        known_ids.update(filter(None, map(_item_id, output)))


_Key = tuple[str, ...]
"""Identifies an item even if a client has rewritten it."""


class _SentItems(NamedTuple):
    """The items that a request of a lane sent, and the key of each."""

    items: Sequence[Json] = ()
    keys: Sequence[_Key] = ()

    def keys_of(self, items: Sequence[Json]) -> Sequence[_Key]:
        """Return the keys of the items that the next request sends."""
        # A request usually begins with the items of the previous one, whose keys are known already.
        pairs = enumerate(zip(self.items, items, strict=False))
        same = next((place for place, (earlier, item) in pairs if earlier != item), min(len(self.items), len(items)))
        return [*self.keys[:same], *map(_item_key, items[same:])]

    def beyond(self, before: Counter[_Key], outputs: Counter[_Key], known_ids: set[str]) -> list[Json]:
        """List the items that occur more often than they were sent `before`, and than they are in all `outputs`."""
        found, seen = [], Counter[_Key]()
        for item, key in zip(self.items, self.keys, strict=True):
            seen[key] += 1
            is_known = item.get("type") == "item_reference" and as_string(item.get("id")) in known_ids
            if seen[key] > max(before[key], outputs[key]) and not is_known:
                found.append(item)
        return found


def is_unanswered(exchange: Exchange) -> bool:
    """Return whether the script had no turn for a request, which its author must fix."""
    return answer_error(exchange).get("type") == "harness_error"


def item_line(item: Json) -> str:
    """Summarize an item in one line: type and name, the beginning of its text, the `call_id` of a call."""
    name = ".".join(str(item[part]) for part in ("server_label", "name") if item.get(part))
    line = summarize_item({**item, "name": name} if item.get("server_label") else item, 60)
    match item.get("type"):
        case "mcp_approval_response":
            return f"{line} {'approved' if item.get('approve') else 'denied'}"
        case "mcp_approval_request" | "item_reference" | "local_shell_call_output":
            return f"{line} ({item.get('id')})"
    return f"{line} ({item['call_id']})" if item.get("name") and item.get("call_id") else line


def _request_items(request: Request) -> list[Json]:
    """List the items of a request, without the leading instructions that identify its lane."""
    body = as_object(request.body)
    if request.path.endswith("/messages"):
        return [body] if body else []
    if request.path.endswith("/submit_tool_outputs"):
        outputs = objects_in(body.get("tool_outputs"))
        return [{**output, "type": "function_call_output", "call_id": output.get("tool_call_id")} for output in outputs]
    more = objects_in(body.get("additional_messages")) or objects_in(as_object(body.get("thread")).get("messages"))
    return more or list(dropwhile(lambda item: item.get("role") in INSTRUCTION_ROLES, objects_in(input_items(body))))


def _item_key(item: Json) -> _Key:
    """Return a key for an item that a client may have rewritten: white space, ids and part types do not count."""
    kind = as_string(item.get("role")) or as_string(item.get("type"))
    if kind in ("reasoning", "item_reference") and item.get("id"):
        return kind, str(item["id"])
    return kind, str(item.get("name")), str(item.get("call_id")), "".join(item_text(item).split())


def _answer_items(answer: Answer) -> Iterator[Json]:
    """Yield the output in an answer: items of a response, messages and calls of a run, messages of a list."""
    body = as_object(answer.body)
    yield from objects_in(body.get("output"))
    events = objects_in(list(answer.events or ()))
    streamed = [as_object(event.get("data")) for event in events if event.get("event") == "thread.message.completed"]
    for message in [*streamed, *objects_in(body.get("data"))]:
        if message.get("object") == "thread.message" and message.get("role") == "assistant":
            yield message
    waiting = as_object(as_object(body.get("required_action")).get("submit_tool_outputs")).get("tool_calls")
    for call in objects_in(waiting):
        yield {**call, **as_object(call.get("function")), "type": "function_call", "call_id": call.get("id")}


def _item_id(item: Json) -> str:
    return as_string(item.get("id"))


def _status_line(answer: Answer) -> str:
    if answer.disconnection:
        return answer.disconnection
    body = as_object(answer.body)
    status = as_string(body.get("status"))
    if body.get("object") not in ("response", "thread.run") or status in _UNREMARKABLE_STATUSES:
        return ""
    why = as_object(body.get("incomplete_details")).get("reason") or as_object(body.get("error")).get("code")
    why = why or as_object(body.get("last_error")).get("code")
    return f"{status} ({why})" if why else status


def _failure_line(exchange: Exchange) -> str:
    message = answer_error(exchange).get("message")
    if is_unanswered(exchange):
        return f"no answer: {message}"
    return f"refused: {exchange.status} {message}" if exchange.status >= 400 else ""
