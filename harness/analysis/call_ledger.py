"""Two ledgers: the calls that a client executes, and the calls of remote MCP servers that it approves.

They are derived from the journal and show what reached the wire; `harness.counted` records real executions. Of the calls
of a coding agent, those of a shell are its commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from harness.analysis.collect_replies import ids_of_call, is_response, required_calls
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.limits import oldest_beyond
from harness.core.text import item_text, quote, shorten
from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES, ITEMS
from harness.items.transcript import APPROVAL_REQUEST, APPROVAL_RESPONSE, answered_call_id, conversation_id, input_items

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
        body = as_object(request.body)
        conversation = request.params.get("conversation_id") or conversation_id(body)
        for submitted in objects_in(body.get("tool_outputs")):  # submitted to a run
            self._record_output(exchange.number, submitted.get("tool_call_id"), submitted.get("output"))
        outputs = self._add_outputs(exchange.number, body, as_string(body.get("previous_response_id")) or conversation)
        if not isinstance(answer, dict):
            return
        if id := (is_response(answer) or answer.get("object") == "conversation") and as_string(answer.get("id")):
            # The first exchange with a response is its request; a later retrieve sends no outputs.
            self._outputs_by_chain.setdefault(id, outputs)
        if conversation:
            self._outputs_by_chain[conversation] = outputs
        for item in _calls_of_answer(answer):
            self._add_call(item, exchange.number)

    def _add_call(self, item: Json, exchange: int | None) -> None:
        if id := as_string(item.get("call_id")):
            made = Call(item["type"], as_string(item.get("name")), id, call_arguments(item), exchange)
            self.calls.setdefault(id, made)
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


MCP_CALL = "mcp_call"
APPROVAL_TYPES = frozenset({APPROVAL_REQUEST, APPROVAL_RESPONSE, MCP_CALL})


def concerns_approvals(items: Sequence[Json]) -> bool:
    """Return whether any of these items is an approval request, its answer or an MCP call."""
    return not APPROVAL_TYPES.isdisjoint([item.get("type") for item in items])


@dataclass(frozen=True, slots=True)
class Approval:
    """One `mcp_approval_request`, its answers and the executions of its call.

    `arguments` is the JSON text of the wire. `asked` is the number of the exchange with the request, None when only the
    client sent it; `answers` are the exchanges in which the client answered, `runs` those in which the call was executed:
    one of each is correct. `approve` and `reason` are those of the last answer, None before it.
    """

    id: str
    server_label: str
    name: str
    arguments: str
    asked: int | None = None
    answers: tuple[int, ...] = ()
    approve: bool | None = None
    reason: str | None = None
    runs: tuple[int, ...] = ()

    @property
    def executed(self) -> int:
        """How often the call was executed."""
        return len(self.runs)


class ApprovalLedger:
    """All approvals of one API key, in the order in which they were requested."""

    def __init__(self) -> None:
        self._approvals: dict[str, Approval] = {}

    def __iter__(self) -> Iterator[Approval]:
        return iter(self._approvals.values())

    def __len__(self) -> int:
        return len(self._approvals)

    def add_exchange(
        self, number: int, previous: Iterable[Json], added: Sequence[Json], output: Sequence[Json]
    ) -> None:
        """Record an exchange: the items of the `previous` transcript, those the request `added`, the model's output."""
        for index, item in enumerate(added):
            if item.get("type") == APPROVAL_RESPONSE:
                self._add_answer(item, number, [*previous, *added], added[index + 1 :])
        for item in output:
            if item["type"] == APPROVAL_REQUEST:
                self._approvals[item["id"]] = _approval_from(item, number)
            # An MCP call without a request was allowed by `require_approval: never`.
            elif item["type"] == MCP_CALL and (known := self._approvals.get(item.get("approval_request_id") or "")):
                self._approvals[known.id] = replace(known, runs=(*known.runs, number))

    def keep_newest(self, most: int | None) -> None:
        """Drop the oldest approvals beyond `most`."""
        for id in oldest_beyond(self._approvals, most):
            del self._approvals[id]

    def _add_answer(self, item: Json, number: int, transcript: Sequence[Json], later: Sequence[Json]) -> None:
        id = item["approval_request_id"]
        if id not in self._approvals and (
            request := next((asked_item for asked_item in transcript if asked_item.get("id") == id), None)
        ):
            self._approvals[id] = _approval_from(request, None)
        if (known := self._approvals.get(id)) is None:
            return  # a recording may begin after the request for the approval
        if known.answers and any(self._is_later_output(known, later_item) for later_item in later):
            return  # a history that is sent again holds the answer again
        answers = (*known.answers, number)
        self._approvals[id] = replace(known, answers=answers, approve=item["approve"], reason=item.get("reason"))

    def _is_later_output(self, answered: Approval, item: Json) -> bool:
        kind = item.get("type", "message")
        if kind == "message" or kind in CALL_OF_OUTPUT:
            return item.get("role") == "assistant"
        # The approval requests of one response may be answered in any order, so its other requests are not later.
        other = self._approvals.get(item.get("id", "")) if kind == APPROVAL_REQUEST else None
        return kind in ITEMS and not (other and other.asked == answered.asked)


def _approval_from(item: Json, number: int | None) -> Approval:
    return Approval(item["id"], item["server_label"], item["name"], item["arguments"], number)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command that the model asked for: its text, and the output sent to the model (None: no output)."""

    text: str
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """Whether commands with a text ran; true or false in an assertion, and shown with all commands."""

    holds: bool
    claim: str
    run: CodingRun
    first: int = -1

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        listed = "".join(
            f"\n  {number}. {shorten(command.text, 200)}" for number, command in enumerate(self.run.commands, 1)
        )
        return f"{self.claim}: {'yes' if self.holds else 'no'}; it ran{listed or ' no command'}"

    def before(self, text: str) -> Ran:
        """Return whether the first command with this text came before the first with another, and both ran."""
        other = self.run.ran(text)
        return Ran(
            self.holds and other.holds and self.first < other.first, f"{self.claim} before {quote(text)}", self.run
        )


@dataclass(frozen=True, slots=True)
class CodingRun:
    """The outcome of a run: exit code, what it printed, the changed `files` and the `commands`, in order.

    `files` maps the path of each file that was written, relative to the folder, to its text, and of a deleted one to None.
    """

    exit_code: int
    output: str
    errors: str
    files: Mapping[str, str | None]
    commands: Sequence[ShellCommand]

    def ran(self, text: str) -> Ran:
        """Return whether a command with this text ran: `run.ran("pytest").before("git commit")`."""
        first = next((number for number, command in enumerate(self.commands) if text in command.text), -1)
        return Ran(first >= 0, f"ran {quote(text)}", self, first)


def list_commands(exchanges: Iterable[Exchange]) -> list[ShellCommand]:
    """List the commands of the shell calls in the answers, each with the output in a later request."""
    made = [call for call in collect_calls(exchanges) if call.said]
    return [ShellCommand(text, _first_output(call)) for call in made for text in _command_texts(call)]


def _first_output(call: Call) -> str | None:
    for _, output in call.outputs[:1]:
        return item_text({"output": output}) or str(output)
    return None


def _command_texts(call: Call) -> Iterator[str]:
    """Yield the command of a call of a shell, whatever the client calls that tool."""
    is_shell = call.type in ("function_call", "shell_call", "local_shell_call")
    arguments = as_object(call.parsed_arguments) if is_shell else {}
    for name, between in (("cmd", " "), ("command", " "), ("commands", "\n")):
        if isinstance(command := arguments.get(name), str):
            yield command
        elif isinstance(command, list):
            yield between.join(map(str, command))
