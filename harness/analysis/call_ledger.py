"""The ledger of calls that a client makes for the model: who asked for each, and how often it was answered.

It is read from the journal, so it shows what reached the wire; `harness.counted` shows what was really run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from harness.analysis.collect_replies import ITEM_TYPES, ids_of_call, required_calls
from harness.core.exchange import Exchange, Json
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.items.transcript import answered_call_id, conversation_id, input_items

CallOutput = tuple[str, bytes]
"""The `call_id` that an output answers, and what it says."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a client has to make: its wire `type`, `name` (empty where its kind has none) and `call_id`.

    `arguments` is the JSON text or the input of the wire. `said` is the number of the exchange that asked for it, None when
    the client brought the call itself; `outputs` are its answers, each with the number of its exchange. A history that is
    sent again holds the same answer, not another one; what a refused request brings does not count.
    """

    type: str
    name: str
    call_id: str
    arguments: str
    said: int | None = None
    outputs: tuple[tuple[int, Any], ...] = ()

    @property
    def answered(self) -> int:
        """How often it was answered: once is right."""
        return len(self.outputs)

    def as_json(self) -> Json:
        """It as JSON."""
        outputs = [{"exchange": number, "output": output} for number, output in self.outputs]
        own = {name: getattr(self, name) for name in ("type", "name", "call_id", "arguments", "said")}
        return {**own, "outputs": outputs, "answered": self.answered}


def collect_calls(exchanges: Iterable[Exchange]) -> list[Call]:
    """Every call of these exchanges, in the order they were asked for."""
    book = _CallLedger()
    for exchange in exchanges:
        if exchange.status < 400:
            book.add_exchange(exchange)
    return list(book.calls.values())


class _CallLedger:
    """The calls so far, and the outputs that each response and conversation has behind it."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self._call_ids: dict[str, str] = {}
        self._outputs_by_chain: dict[str, Counter[CallOutput]] = {}

    def add_exchange(self, exchange: Exchange) -> None:
        """One exchange more: first what the request brought, then what the model said."""
        request, answer = exchange.request, exchange.answer.body
        body = request.body if isinstance(request.body, dict) else {}
        conversation = request.params.get("conversation_id") or conversation_id(body)
        self._add_tool_outputs(exchange.number, body)
        whole = self._add_outputs(exchange.number, body, body.get("previous_response_id") or conversation)
        if not isinstance(answer, dict):
            return
        if answer.get("object") in ("response", "conversation"):
            self._outputs_by_chain.setdefault(answer["id"], whole)
        if conversation:
            self._outputs_by_chain[conversation] = whole
        for item in _calls_of_answer(answer):
            self._add_call(item, exchange.number)

    def _add_call(self, item: Json, said: int | None) -> None:
        if (id := item.get("call_id")) and item["type"] in ITEM_TYPES["calls"]:
            self.calls.setdefault(id, Call(item["type"], item.get("name") or "", id, call_arguments(item), said))
            self._call_ids.update((name, id) for name in ids_of_call(item))

    def _add_tool_outputs(self, number: int, body: Json) -> None:
        """What a run is answered with."""
        for each in body.get("tool_outputs") or ():
            self._record_output(number, each.get("tool_call_id"), each.get("output"))

    def _add_outputs(self, number: int, body: Json, behind: str | None) -> Counter[CallOutput]:
        """Write down the outputs of a request; returns all that its transcript holds, with what it continues."""
        added = input_items(body) or body.get("items") or ()
        items = [item for item in added if isinstance(item, dict)]
        for item in items:
            if item.get("type") in CLIENT_CALL_NAMES:
                self._add_call(item, None)
        replayed = {
            self._call_ids.get(id)
            for item in items
            if item.get("type") not in CALL_OF_OUTPUT
            for id in ids_of_call(item)
        }
        before = self._outputs_by_chain.get(behind or "", Counter())
        given = Counter(output for item in items if (output := self._parse_output(item)))
        whole = before | given
        whole.update({output: count for output, count in (before & given).items() if output[0] not in replayed})
        for output, count in whole.items():
            known = self.calls.get(output[0])
            seen = sum(_canonical_json(each) == output[1] for _, each in known.outputs) if known else count
            for _ in range(count - seen):
                self._record_output(number, output[0], orjson.loads(output[1]))
        return whole

    def _parse_output(self, item: Json) -> CallOutput | None:
        if item.get("type") not in CALL_OF_OUTPUT or not (id := answered_call_id(item)):
            return None
        return self._call_ids.get(id, id), _canonical_json(item.get("output", item.get("tools")))

    def _record_output(self, number: int, call_id: Any, output: Any) -> None:
        if call := self.calls.get(call_id):
            self.calls[call_id] = replace(call, outputs=(*call.outputs, (number, output)))


def _calls_of_answer(answer: Json) -> list[Json]:
    """The calls that an answer asks for."""
    if answer.get("object") == "response":
        return [
            item for item in answer["output"] if item["type"] in CLIENT_CALL_NAMES and item.get("execution") != "server"
        ]
    return required_calls(answer) if answer.get("object") == "thread.run" else []


def _canonical_json(output: Any) -> bytes:
    return orjson.dumps(output, option=orjson.OPT_SORT_KEYS)


def call_arguments(item: Mapping[str, Any]) -> str:
    """What a call is made with: the text of the wire, or the JSON of what stands in its place."""
    for name in ("arguments", "input"):
        if isinstance(item.get(name), str):
            return str(item[name])
    members = ("arguments", "action", "actions", "operation")
    return orjson.dumps(next((item[name] for name in members if item.get(name)), {})).decode()
