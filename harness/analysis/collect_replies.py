"""Collects the model's replies from a journal: responses and runs, in the order in which they began.

Every transport (JSON, a stream, a polled background response, a WebSocket, a run of a thread) yields the same form:
messages, calls and reasoning as items, and the usage. Output that no answer contains is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from harness.api.resources.assistants import apply_delta
from harness.api.responses import ENDED_STATUSES
from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object, as_string
from harness.core.replies import ModelReplies, ModelReply, token_counts
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.items.transcript import APPROVAL_REQUEST, APPROVAL_RESPONSE, answered_call_id, input_items

ITEM_TYPES = {"messages": ("message",), "calls": (*CLIENT_CALL_NAMES, APPROVAL_REQUEST), "reasoning": ("reasoning",)}
"""The types of output items by the member of `ModelReply` that holds them; `calls` are those the client must answer."""


def is_response(body: Json) -> bool:
    """Return whether a body is a response."""
    # A Foundry project confirms a deletion with `"object": "response"`, too, but without an output.
    return body.get("object") == "response" and "output" in body


def collect_replies(exchanges: Iterable[Exchange]) -> ModelReplies:
    """Collect the replies in these exchanges; refused requests have none."""
    collector = _ReplyCollector()
    for exchange in exchanges:
        if exchange.status < 400 and not exchange.is_routed:
            collector.add_exchange(exchange)
    return ModelReplies(reply for reply in collector.replies() if reply.messages or reply.calls or reply.usage)


class _ReplyCollector:
    """Collects replies by id, the messages of each run as its thread shows them, and the reply of each open call."""

    def __init__(self) -> None:
        self._replies: dict[str, ModelReply] = {}
        self._run_messages: dict[str, dict[str, Json]] = {}
        self._reply_ids_by_call: dict[str, str] = {}

    def replies(self) -> Iterator[ModelReply]:
        for id, reply in self._replies.items():
            own = self._run_messages.get(id)
            yield replace(reply, messages=tuple(map(_item_from_message, own.values()))) if own else reply

    def add_exchange(self, exchange: Exchange) -> None:
        """Record the response or the thread objects in an answer."""
        body = exchange.answer.body
        if not isinstance(body, dict):
            return
        if is_response(body):
            self._add_response(exchange, body)
        for thing in _thread_objects(exchange, body):
            self._add_thread_object(exchange.number, thing)

    def _add_response(self, exchange: Exchange, body: Json) -> None:
        request = exchange.request
        answered = [
            self._reply_ids_by_call.pop(id, None) for id in answered_call_ids(request)
        ]  # only the first request that answers a call follows its reply
        follows = next(filter(None, reversed(answered)), None)
        known = self._replies.setdefault(body["id"], ModelReply(body["id"], exchange.number, follows=follows))
        # A response may be retrieved several times; its first final form counts.
        is_told = known.messages or known.calls or known.reasoning or known.usage
        is_warm_up = isinstance(request.body, dict) and request.body.get("generate") is False  # runs no model
        if body["status"] in ENDED_STATUSES and not is_told and not is_warm_up:
            output = [item for item in body["output"] if item.get("execution") != "server"]
            items: Json = {
                name: tuple(item for item in output if item["type"] in kinds) for name, kinds in ITEM_TYPES.items()
            }
            self._store_reply(replace(known, exchange=exchange.number, usage=body.get("usage") or {}, **items))

    def _store_reply(self, reply: ModelReply) -> None:
        self._replies[reply.id] = reply
        self._reply_ids_by_call.update((id, reply.id) for call in reply.calls for id in ids_of_call(call))

    def _add_thread_object(self, number: int, thing: Json) -> None:
        """Record an object of a thread: a run, a message of the assistant, or a delta of one."""
        kind = thing.get("object")
        if kind == "thread.run":
            known = self._replies.get(thing["id"]) or ModelReply(thing["id"], number)
            calls = {call["id"]: call for call in [*known.calls, *required_calls(thing)]}
            self._store_reply(replace(known, calls=tuple(calls.values()), usage=thing["usage"] or known.usage))
        elif kind == "thread.message" and thing["run_id"]:
            self._replies.setdefault(thing["run_id"], ModelReply(thing["run_id"], number))
            messages = self._run_messages.setdefault(thing["run_id"], {})
            messages[thing["id"]] = _merge_message(messages.get(thing["id"], thing), thing)
        elif kind == "thread.message.delta":
            messages = next(message for message in self._run_messages.values() if thing["id"] in message)
            messages[thing["id"]] = apply_delta(messages[thing["id"]], thing)


def answered_call_ids(request: Request) -> Iterator[str]:
    """Yield the ids of the calls and approval requests that a request answers."""
    for item in input_items(as_object(request.body)):
        if item.get("type") in CALL_OF_OUTPUT and (id := answered_call_id(item)):
            yield id
        elif item.get("type") == APPROVAL_RESPONSE:
            yield item["approval_request_id"]


def ids_of_call(call: Json) -> list[str]:
    """List the ids by which a client may answer a call."""
    return [id for name in ("call_id", "id") if (id := as_string(call.get(name)))]


def required_calls(run: Json) -> list[Json]:
    """List the calls of a run's `required_action`, as items."""
    action = run.get("required_action")
    return [_item_from_call(call) for call in action[action["type"]]["tool_calls"]] if action else []


def _item_from_call(call: Json) -> Json:
    if call["type"] == "function":
        return {"type": "function_call", "id": call["id"], "call_id": call["id"], **call["function"]}
    return {**call, "type": APPROVAL_REQUEST}


def _thread_objects(exchange: Exchange, body: Json) -> Iterator[Json]:
    """Yield the objects of threads in an answer, oldest first."""
    shown: Iterable[Any] = [body]
    if body.get("object") == "list":
        # Messages must be merged oldest first, but lists are newest first by default.
        newest_first = exchange.request.query.get("order", "desc") == "desc"
        shown = reversed(body["data"]) if newest_first else body["data"]
    elif body.get("object") == "thread.run" and exchange.answer.events is not None:
        shown = [event["data"] for event in exchange.answer.events]
    for thing in shown:
        if isinstance(thing, dict) and str(thing.get("object")).startswith("thread."):
            yield thing


def _merge_message(known: Json, shown: Json) -> Json:
    """Merge a newer form of a message into an older one, keeping parts and annotations that only deltas had."""
    if len(known["content"]) > len(shown["content"]):
        return known
    pairs = zip(known["content"], shown["content"], strict=False)
    rest = shown["content"][len(known["content"]) :]
    return {**shown, "content": [*(_merge_part(before, part) for before, part in pairs), *rest]}


def _merge_part(known: Json, part: Json) -> Json:
    annotations = known.get("text", {}).get("annotations") or ()
    if part["type"] != "text" or len(annotations) <= len(part["text"]["annotations"]):
        return part
    return {**part, "text": {**part["text"], "annotations": annotations}}


def _item_from_message(message: Json) -> Json:
    content = [_output_part(part) for part in message["content"] if part["type"] in ("text", "refusal")]
    return {"type": "message", "id": message["id"], "role": message["role"], "content": content}


def _output_part(part: Json) -> Json:
    if part["type"] == "refusal":
        return dict(part)
    return {"type": "output_text", "text": part["text"]["value"], "annotations": part["text"].get("annotations") or []}


_DETAILS = {
    "cached_tokens": ("input_tokens_details", "prompt_token_details", "prompt_tokens_details"),
    "reasoning_tokens": ("output_tokens_details", "completion_tokens_details"),
}
"""The counts that are nested in a usage object, with the possible names of the member that holds them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts, named as on the wire: `input_tokens` include `cached_tokens`, `output_tokens` `reasoning_tokens`.

    `by_agent` holds the share of each agent by name; comparisons ignore it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    by_agent: Mapping[str, Usage] = field(default_factory=dict, compare=False, repr=False)

    def __add__(self, other: Usage) -> Usage:
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNT_NAMES}
        return replace(self, **sums, by_agent={})

    def as_json(self) -> Json:
        """Return the counts as JSON."""
        return {name: getattr(self, name) for name in COUNT_NAMES}


COUNT_NAMES = tuple(member.name for member in fields(Usage) if member.name != "by_agent")


def sum_usage(replies: Iterable[ModelReply], agents: Mapping[int, str]) -> Usage:
    """Sum the usage of replies; `agents` maps the number of an exchange to the name of its agent."""
    total, shares = Usage(), dict[str, Usage]()
    for reply in replies:
        counted = as_object(reply.usage)
        details = {name: _detail(counted, name, members) for name, members in _DETAILS.items()}
        counts: Json = token_counts(reply.usage) | details
        own = Usage(**counts)
        total += own
        if agent := agents.get(reply.exchange):
            shares[agent] = shares.get(agent, Usage()) + own
    return replace(total, by_agent=shares)


def _detail(usage: Json, name: str, members: Iterable[str]) -> int:
    counts = (as_object(usage.get(member)).get(name) for member in members)
    return next((count for count in counts if isinstance(count, int)), 0)
