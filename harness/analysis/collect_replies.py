"""What the model said to one key, read back from its journal: responses and runs, in the order they began.

Whatever carried it (JSON, a stream, a background response that was polled, a WebSocket, a run of a thread), it is told in
the same words: messages, calls and reasoning as items, the usage. What no answer has shown was not said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from harness.analysis.approval_ledger import APPROVAL_REQUEST, APPROVAL_RESPONSE
from harness.api.resources.threads import apply_delta
from harness.api.statuses import ENDED_STATUSES
from harness.core.exchange import Exchange, Json, Request
from harness.core.replies import ModelReplies, ModelReply
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.items.transcript import answered_call_id, input_items

ITEM_TYPES = {"messages": ("message",), "calls": (*CLIENT_CALL_NAMES, APPROVAL_REQUEST), "reasoning": ("reasoning",)}
"""The items of a response that are told, by where; the calls are those a client has to answer."""


def collect_replies(exchanges: Iterable[Exchange]) -> ModelReplies:
    """All that was said in these exchanges."""
    journal = _ReplyCollector()
    for exchange in exchanges:
        if exchange.status < 400:
            journal.add_exchange(exchange)
    return ModelReplies(said for said in journal.replies() if said.messages or said.calls or said.usage)


class _ReplyCollector:
    """What was said so far by id, the messages of each run as its thread has them, and who said which open call."""

    def __init__(self) -> None:
        self._replies: dict[str, ModelReply] = {}
        self._run_messages: dict[str, dict[str, Json]] = {}
        self._reply_ids_by_call: dict[str, str] = {}

    def replies(self) -> Iterator[ModelReply]:
        """All of it."""
        for id, said in self._replies.items():
            own = self._run_messages.get(id)
            yield replace(said, messages=tuple(map(_item_from_message, own.values()))) if own else said

    def add_exchange(self, exchange: Exchange) -> None:
        """One exchange more."""
        body = exchange.answer.body
        if not isinstance(body, dict):
            return
        if body.get("object") == "response":
            self._add_response(exchange, body)
        for thing in _thread_objects(exchange, body):
            self._add_thread_object(exchange.number, thing)

    def _add_response(self, exchange: Exchange, body: Json) -> None:
        follows = self._find_followed(exchange.request)
        known = self._replies.setdefault(body["id"], ModelReply(body["id"], exchange.number, follows=follows))
        if body["status"] in ENDED_STATUSES and not _has_content(known) and not _is_warm_up(exchange.request):
            told: Json = {name: _select_items(body["output"], kinds) for name, kinds in ITEM_TYPES.items()}
            self._store_reply(replace(known, exchange=exchange.number, usage=body.get("usage") or {}, **told))

    def _store_reply(self, said: ModelReply) -> None:
        self._replies[said.id] = said
        self._reply_ids_by_call.update((id, said.id) for call in said.calls for id in ids_of_call(call))

    def _find_followed(self, request: Request) -> str | None:
        """Who said the calls that a request is the first to answer, the last of them."""
        found = [self._reply_ids_by_call.pop(id) for id in answered_call_ids(request) if id in self._reply_ids_by_call]
        return found[-1] if found else None

    def _add_thread_object(self, number: int, thing: Json) -> None:
        """An object of a thread: a run, a message of the assistant, or a delta of one."""
        kind = thing.get("object")
        if kind == "thread.run":
            self._add_run(number, thing)
        elif kind == "thread.message" and thing["run_id"]:
            self._replies.setdefault(thing["run_id"], ModelReply(thing["run_id"], number))
            told = self._run_messages.setdefault(thing["run_id"], {})
            told[thing["id"]] = _merge_message(told.get(thing["id"], thing), thing)
        elif kind == "thread.message.delta":
            told = next(own for own in self._run_messages.values() if thing["id"] in own)
            told[thing["id"]] = apply_delta(told[thing["id"]], thing)

    def _add_run(self, number: int, run: Json) -> None:
        known = self._replies.get(run["id"]) or ModelReply(run["id"], number)
        calls = {call["id"]: call for call in [*known.calls, *required_calls(run)]}
        self._store_reply(replace(known, calls=tuple(calls.values()), usage=run["usage"] or known.usage))


def _has_content(said: ModelReply) -> bool:
    return bool(said.messages or said.calls or said.reasoning or said.usage)


def _is_warm_up(request: Request) -> bool:
    """Whether the model was not asked: a warm-up of a WebSocket."""
    return isinstance(request.body, dict) and request.body.get("generate") is False


def _select_items(output: Iterable[Json], kinds: tuple[str, ...]) -> tuple[Json, ...]:
    return tuple(item for item in output if item["type"] in kinds and item.get("execution") != "server")


def answered_call_ids(request: Request) -> Iterator[str]:
    """The ids of the calls, and of the requests for leave, that a request brings an answer for."""
    for item in input_items(request.body if isinstance(request.body, dict) else {}):
        if item.get("type") in CALL_OF_OUTPUT and (id := answered_call_id(item)):
            yield id
        elif item.get("type") == APPROVAL_RESPONSE:
            yield item["approval_request_id"]


def ids_of_call(call: Json) -> list[str]:
    """The ids by which a client may answer a call."""
    return [call[name] for name in ("call_id", "id") if call.get(name)]


def required_calls(run: Json) -> list[Json]:
    """The calls that a run waits for, as items."""
    action = run.get("required_action")
    return [_item_from_call(call) for call in action[action["type"]]["tool_calls"]] if action else []


def _item_from_call(call: Json) -> Json:
    if call["type"] == "function":
        return {"type": "function_call", "id": call["id"], "call_id": call["id"], **call["function"]}
    return {**call, "type": APPROVAL_REQUEST}


def _thread_objects(exchange: Exchange, body: Json) -> Iterator[Json]:
    """The objects of threads that an answer shows, oldest first."""
    shown: Iterable[Any] = [body]
    if body.get("object") == "list":
        newest_first = exchange.request.query.get("order", "desc") == "desc"
        shown = reversed(body["data"]) if newest_first else body["data"]
    elif body.get("object") == "thread.run" and exchange.answer.events is not None:
        shown = [event["data"] for event in exchange.answer.events]
    for thing in shown:
        if isinstance(thing, dict) and str(thing.get("object")).startswith("thread."):
            yield thing


def _merge_message(told: Json, ended: Json) -> Json:
    """A message as it is shown now; what only its deltas had of its texts stays."""
    if len(told["content"]) > len(ended["content"]):
        return told
    pairs = zip(told["content"], ended["content"], strict=False)
    rest = ended["content"][len(told["content"]) :]
    return {**ended, "content": [*(_merge_part(before, part) for before, part in pairs), *rest]}


def _merge_part(before: Json, part: Json) -> Json:
    noted = before.get("text", {}).get("annotations") or ()
    if part["type"] != "text" or len(noted) <= len(part["text"]["annotations"]):
        return part
    return {**part, "text": {**part["text"], "annotations": noted}}


def _item_from_message(message: Json) -> Json:
    """A message of a thread as an item."""
    content = [_output_part(part) for part in message["content"] if part["type"] in ("text", "refusal")]
    return {"type": "message", "id": message["id"], "role": message["role"], "content": content}


def _output_part(part: Json) -> Json:
    if part["type"] == "refusal":
        return dict(part)
    return {"type": "output_text", "text": part["text"]["value"], "annotations": part["text"].get("annotations") or []}
