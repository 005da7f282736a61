"""The flow of a journal as a sequence diagram: its messages as data, and as a Mermaid `sequenceDiagram`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from harness.analysis.flow_steps import MAX_ITEMS, FlowStep, item_line
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import item_text, shorten, summarize_item

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
    """Shorten a text to one line."""
    return " ".join(shorten(text).split()) or "…"


def _escape_mermaid(line: str) -> str:
    """Replace Mermaid's special characters with their character codes."""
    return _MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", line)
