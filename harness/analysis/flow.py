"""The flow of a journal: its steps, as text, as a Mermaid `sequenceDiagram`, and excerpts of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, dropwhile
from typing import Literal, NamedTuple

from harness.analysis.lanes import INSTRUCTION_ROLES, HandOff, LaneExchange, asks_model
from harness.core.exchange import Answer, Exchange, Json, Request, answer_error
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import count_shared, item_text, pluralize, shorten, summarize_item
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
        output = [item for item in _answer_items(answer) if as_string(item.get("id")) not in known_ids]
        endpoint = "" if asks_model(request) else f"{request.method} {request.path}"
        yield FlowStep(
            exchange.number, lane, new_items, output, _status_line(answer), _failure_line(exchange), endpoint, hand_off
        )
        if asks_model(request):
            sent_by_lane[lane] = now
        all_outputs.update(map(_item_key, output))
        known_ids.update(filter(None, (as_string(item.get("id")) for item in output)))


_Key = tuple[str, ...]
"""Identifies an item even if a client has rewritten it."""


class _SentItems(NamedTuple):
    """The items that a request of a lane sent, and the key of each."""

    items: Sequence[Json] = ()
    keys: Sequence[_Key] = ()

    def keys_of(self, items: Sequence[Json]) -> Sequence[_Key]:
        # A request usually begins with the items of the previous one, whose keys are known already.
        same = count_shared(self.items, items)
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


USER_NAME, API_NAME, TOOLS_NAME = "user", "API", "tools"
_MERMAID_SPECIAL = re.compile(r"[#;%<>&$\\\ud800-\udfff\x00-\x1f]")
"""Characters that would end, hide or change a label of a diagram; they are written as character codes."""

MessageKind = Literal["request", "answer", "failure"]
_MERMAID_ARROWS: dict[MessageKind, str] = {"request": "->>", "answer": "-->>", "failure": "--x"}


@dataclass(frozen=True, slots=True)
class SequenceMessage:
    """A message between two participants, `source` and `target`, given by index.

    `exchange` is the number of the exchange if the message is its request, else 0.
    """

    source: int
    target: int
    kind: MessageKind
    text: str
    exchange: int = 0


@dataclass(frozen=True, slots=True)
class SequenceDiagram:
    """The messages in order, and the names of the `participants`."""

    participants: Sequence[str] = ()
    messages: Sequence[SequenceMessage] = ()

    @classmethod
    def from_json(cls, members: Json) -> SequenceDiagram:
        """Read a diagram from its JSON."""
        messages = tuple(SequenceMessage(**message) for message in objects_in(list(members["messages"])))
        return cls(tuple(members["participants"]), messages)

    @property
    def mermaid(self) -> str:
        """The diagram as Mermaid text."""
        kinds = ("actor" if name == USER_NAME else "participant" for name in self.participants)
        named = zip(kinds, self.participants, strict=True)
        lines = [f"{kind} P{place} as {_escape_mermaid(name)}" for place, (kind, name) in enumerate(named)]
        for message in self.messages:
            arrow = _MERMAID_ARROWS[message.kind]
            lines.append(f"P{message.source}{arrow}P{message.target}: {_escape_mermaid(message.text)}")
        return "\n  ".join(["sequenceDiagram", *lines])


NO_MESSAGES = SequenceDiagram()


def draw_sequence(steps: Sequence[FlowStep]) -> SequenceDiagram:
    """Draw the messages of these steps; participants appear in the order of their first message."""
    places: dict[str, int] = defaultdict(count().__next__)
    messages = tuple(
        SequenceMessage(places[source], places[target], kind, _shorten_line(text), number)
        for source, target, kind, text, number in _draw_messages(steps)
    )
    return SequenceDiagram(tuple(map(_shorten_line, places)), messages)


_Arrow = tuple[str, str, MessageKind, str, int]
"""The members of a message, with the names of its participants."""


def _draw_messages(steps: Sequence[FlowStep]) -> Iterator[_Arrow]:
    calls: dict[str, str] = {}
    for step in steps:
        lane, hand_off = _participant_name(step.lane), step.hand_off
        for item in step.new_items[-MAX_ITEMS:]:
            # The output of a hand-off is drawn as the arrow between the two agents.
            if not (hand_off and item.get("call_id") == hand_off.call_id):
                yield from _draw_input(lane, item, calls)
        if hand_off:
            yield _participant_name(hand_off.by), lane, "request", f"{hand_off.name} ({hand_off.call_id})", 0
        yield lane, API_NAME, "request", f"{step.number}. {step.endpoint or 'POST /responses'}", step.number
        for item in step.output_items:
            calls[as_string(item.get("call_id"))] = item_line(item)
            yield from _draw_output(lane, item)
        if step.failure:
            yield API_NAME, lane, "failure", step.failure, 0
        elif step.status or not step.output_items:
            yield API_NAME, lane, "answer", step.status or "done", 0


def _participant_name(lane: str) -> str:
    return f"agent {lane}" if lane in (USER_NAME, API_NAME, TOOLS_NAME) else lane


def _draw_input(lane: str, item: Json, calls: dict[str, str]) -> Iterator[_Arrow]:
    """Draw an input item of a lane: to and from its tools, or from the user."""
    if as_string(item.get("type")).endswith("_output"):
        call = as_string(item.get("call_id"))
        yield lane, TOOLS_NAME, "request", calls.get(call, call), 0
        yield TOOLS_NAME, lane, "answer", summarize_item(item), 0
    else:
        yield USER_NAME, lane, "request", item_line(item), 0


def _draw_output(lane: str, item: Json) -> Iterator[_Arrow]:
    """Draw an output item: to the lane, or to an MCP server and back."""
    if item.get("type") in ("mcp_call", "mcp_list_tools"):
        server = f"MCP server {item.get('server_label')}"
        yield API_NAME, server, "request", f"{item.get('name') or 'list tools'} {as_string(item.get('arguments'))}", 0
        result = item_text({"output": item.get("error") or item.get("output") or ""}) or "done"
        yield server, API_NAME, "answer", result, 0
    else:
        yield API_NAME, lane, "answer", item_line(item), 0


def _shorten_line(text: str) -> str:
    return " ".join(shorten(text).split()) or "…"


def _escape_mermaid(line: str) -> str:
    return _MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", line)


LINE_WIDTH = 140
"""The maximum length of a line of the text in characters, not counting the number and the lane."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a flow; `earlier` counts the omitted steps before them. `str()` renders the text."""

    steps: Sequence[FlowStep]
    earlier: int = 0

    @property
    def text(self) -> str:
        """The lines of each exchange: its number and lane, the new input items, and the output after `→`."""
        width = max((len(step.lane) for step in self.steps), default=0)
        lines = [f"… {pluralize(self.earlier, 'earlier request')}"] if self.earlier else []
        for step in self.steps:
            head = f"{step.number:>3}  {step.lane:<{width}}  "
            step_lines = [shorten(line, LINE_WIDTH) for line in _step_lines(step)] or ["nothing new"]
            lines += [head + step_lines[0], *(" " * len(head) + line for line in step_lines[1:])]
        return "\n".join(lines)

    @property
    def sequence(self) -> SequenceDiagram:
        """The messages between the user, the lanes, the API, the client's tools and the MCP servers."""
        return draw_sequence(self.steps)

    @property
    def mermaid(self) -> str:
        """The sequence diagram as Mermaid text."""
        return self.sequence.mermaid

    @property
    def hand_offs(self) -> list[HandOff]:
        """The call outputs that handed the flow from one lane to another, in order."""
        return [step.hand_off for step in self.steps if step.hand_off]

    def last_steps(self, number: int) -> Flow:
        """Return the flow of the last `number` steps."""
        hidden = max(0, len(self.steps) - number)
        return Flow(self.steps[hidden:], self.earlier + hidden)

    def excerpts(self, number: int, count: int) -> list[Flow]:
        """Return the last `count` steps; if step `number` is not among them, half are the steps around it instead."""
        at = next((place for place, step in enumerate(self.steps) if step.number == number), len(self.steps))
        if at >= len(self.steps) - count:
            return [self.last_steps(count)]
        half = count // 2
        first = max(0, at - half // 2)
        last = max(first + half, len(self.steps) - half)
        around, newest = self.steps[first : first + half], self.steps[last:]
        return [Flow(around, self.earlier + first), Flow(newest, last - first - half)]

    def __str__(self) -> str:
        return self.text


def build_flow(sent: Sequence[LaneExchange]) -> Flow:
    """Build the flow of exchanges that were assigned to lanes."""
    return Flow(tuple(build_steps(sent)))


def _step_lines(step: FlowStep) -> Iterator[str]:
    if step.endpoint:
        yield step.endpoint
    if step.hand_off:
        yield f"handed over by {step.hand_off.by}: {step.hand_off.name} ({step.hand_off.call_id})"
    if (hidden := len(step.new_items) - MAX_ITEMS) > 0:
        yield f"… {pluralize(hidden, 'earlier item')}"
    yield from map(item_line, step.new_items[-MAX_ITEMS:])
    yield from (f"→ {item_line(item)}" for item in step.output_items)
    yield from (f"→ {end}" for end in (step.status, step.failure) if end)
