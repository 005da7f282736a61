"""The ledger of calls that a client executes for the model: where each was requested, and how often it was answered.

It is derived from the journal and shows what reached the wire; `harness.counted` records real executions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from harness.analysis.collect_replies import ITEM_TYPES, ids_of_call, is_response, required_calls
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_string, objects_in
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.items.transcript import answered_call_id, conversation_id, input_items

CallOutput = tuple[str, bytes]
"""The `call_id` that an output answers, and its value as canonical JSON."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the client executes: its wire `type`, `name` (empty where its type has none) and `call_id`.

    `arguments` is the JSON text or the input of the wire. `said` is the number of the exchange in which the model made it,
    None when only the client sent it; `outputs` are its outputs, each with the number of its exchange. An output in a
    history that is sent again counts once; outputs in refused requests do not count. `agent` is the agent whose request
    the model answered with the call, if known; comparisons ignore it.
    """

    type: str
    name: str
    call_id: str
    arguments: str
    said: int | None = None
    outputs: tuple[tuple[int, Any], ...] = ()
    agent: str = field(default="", compare=False)

    @property
    def parsed_arguments(self) -> Any:
        """The arguments as the tool receives them, for example a dict; the string itself if it is not JSON."""
        return parse_arguments(self.arguments)

    @property
    def answered(self) -> int:
        """How many outputs answered the call; exactly one is correct."""
        return len(self.outputs)

    def as_json(self) -> Json:
        """Return the call as JSON, each output with the number of its exchange."""
        outputs = [{"exchange": number, "output": output} for number, output in self.outputs]
        own = {name: getattr(self, name) for name in ("type", "name", "call_id", "arguments", "said", "agent")}
        return {**own, "outputs": outputs, "answered": self.answered}


def collect_calls(exchanges: Iterable[Exchange]) -> list[Call]:
    """Collect the calls in these exchanges, in the order in which the model made them."""
    ledger = _CallLedger()
    for exchange in exchanges:
        if exchange.status < 400 and not exchange.is_routed:
            ledger.add_exchange(exchange)
    return list(ledger.calls.values())


class _CallLedger:
    """The calls so far, and the outputs in the transcript of each response and conversation."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self._call_ids: dict[str, str] = {}
        self._outputs_by_chain: dict[str, Counter[CallOutput]] = {}

    def add_exchange(self, exchange: Exchange) -> None:
        """Record an exchange: first the items of the request, then the calls of the answer."""
        request, answer = exchange.request, exchange.answer.body
        body = request.body if isinstance(request.body, dict) else {}
        conversation = request.params.get("conversation_id") or conversation_id(body)
        for submitted in objects_in(body.get("tool_outputs")):  # submitted to a run
            self._record_output(exchange.number, submitted.get("tool_call_id"), submitted.get("output"))
        outputs = self._add_outputs(exchange.number, body, as_string(body.get("previous_response_id")) or conversation)
        if not isinstance(answer, dict):
            return
        if is_response(answer) or answer.get("object") == "conversation":
            # The first exchange with a response is its request; a later retrieve sends no outputs.
            self._outputs_by_chain.setdefault(answer["id"], outputs)
        if conversation:
            self._outputs_by_chain[conversation] = outputs
        for item in _calls_of_answer(answer):
            self._add_call(item, exchange.number)

    def _add_call(self, item: Json, exchange: int | None) -> None:
        if (id := as_string(item.get("call_id"))) and item["type"] in ITEM_TYPES["calls"]:
            self.calls.setdefault(
                id, Call(item["type"], as_string(item.get("name")), id, call_arguments(item), exchange)
            )
            self._call_ids.update((name, id) for name in ids_of_call(item))

    def _add_outputs(self, number: int, body: Json, previous: str | None) -> Counter[CallOutput]:
        """Record the outputs in a request and return all outputs of its transcript, including earlier ones."""
        added = objects_in(input_items(body) or body.get("items"))
        items = [item for item in added if isinstance(item.get("type", ""), str)]  # not every request has a schema
        for item in items:
            if item.get("type") in CLIENT_CALL_NAMES:
                self._add_call(item, None)
        others = [item for item in items if item.get("type") not in CALL_OF_OUTPUT]
        replayed = {self._call_ids.get(id) for item in others for id in ids_of_call(item)}
        before = self._outputs_by_chain.get(previous or "", Counter())
        sent = Counter(output for item in items if (output := self._parse_output(item)))
        # An output that was sent before counts again, unless its call is repeated with it, as in a full history.
        outputs = before | sent
        outputs.update({output: count for output, count in (before & sent).items() if output[0] not in replayed})
        for output, count in outputs.items():
            known = self.calls.get(output[0])
            seen = sum(_canonical_json(earlier) == output[1] for _, earlier in known.outputs) if known else count
            for _ in range(count - seen):
                self._record_output(number, output[0], orjson.loads(output[1]))
        return outputs

    def _parse_output(self, item: Json) -> CallOutput | None:
        if item.get("type") not in CALL_OF_OUTPUT or not (id := answered_call_id(item)):
            return None
        return self._call_ids.get(id, id), _canonical_json(item.get("output", item.get("tools")))

    def _record_output(self, number: int, call_id: Any, output: Any) -> None:
        if call := self.calls.get(as_string(call_id)):
            self.calls[call.call_id] = replace(call, outputs=(*call.outputs, (number, output)))


def _calls_of_answer(answer: Json) -> list[Json]:
    if is_response(answer):
        own = [item for item in answer["output"] if item.get("execution") != "server"]
        return [item for item in own if item["type"] in CLIENT_CALL_NAMES]
    return required_calls(answer) if answer.get("object") == "thread.run" else []


def _canonical_json(output: Any) -> bytes:
    return orjson.dumps(output, option=orjson.OPT_SORT_KEYS)


def parse_arguments(text: str) -> Any:
    """Parse the arguments of a call; return a string that is not JSON, such as a custom tool's input, unchanged."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def call_arguments(item: Mapping[str, Any]) -> str:
    """Return the arguments of a call: the string on the wire, or the member that takes its place, as JSON."""
    for name in ("arguments", "input"):
        if isinstance(item.get(name), str):
            return str(item[name])
    members = ("arguments", "action", "actions", "operation")
    return orjson.dumps(next((item[name] for name in members if item.get(name)), {})).decode()
