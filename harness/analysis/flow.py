"""Renders the flow of a journal as text, and as a Mermaid `sequenceDiagram`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.flow_steps import FlowStep, build_steps, item_line
from harness.analysis.lanes import HandOff, LaneExchange
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.text.shorten import item_text, pluralize, shorten, summarize_item

LINE_WIDTH = 140
"""The longest line of the text, in characters, without number and lane."""
MAX_ITEMS = 12
"""How many of the new items of a request are shown, the last ones."""
_MERMAID_SPECIAL = re.compile(r"[#;%<>&$\\\ud800-\udfff\x00-\x1f]")
"""Characters that would end, hide or change a text of a diagram; they are written as character numbers."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a flow; `earlier` counts the omitted steps before them. `str()` renders the text."""

    steps: Sequence[FlowStep]
    earlier: int = 0

    @property
    def text(self) -> str:
        """Lines per exchange: number and lane, the new input items, and the output after `→`."""
        width = max((len(step.lane) for step in self.steps), default=0)
        lines = [f"… {pluralize(self.earlier, 'earlier request')}"] if self.earlier else []
        for step in self.steps:
            head = f"{step.number:>3}  {step.lane:<{width}}  "
            step_lines = [shorten(one, LINE_WIDTH) for one in _step_lines(step)] or ["nothing new"]
            lines += [head + step_lines[0], *(" " * len(head) + one for one in step_lines[1:])]
        return "\n".join(lines)

    @property
    def mermaid(self) -> str:
        """A Mermaid diagram of the user, the lanes, the API, the client's tools and the MCP servers."""
        drawn = list(_draw_arrows(self.steps))
        seen = dict.fromkeys(name for arrow in drawn for name in (arrow.source, arrow.target))
        ids = {name: f"P{number}" for number, name in enumerate(seen)}
        head = [
            f"{_PARTICIPANT_KINDS.get(name, 'participant')} {ids[name]} as {_escape_mermaid(name)}" for name in seen
        ]
        return "\n  ".join(["sequenceDiagram", *head, *(arrow.render(ids) for arrow in drawn)])

    @property
    def hand_offs(self) -> list[HandOff]:
        """The call outputs that handed the flow from one lane to another, in order."""
        return [step.hand_off for step in self.steps if step.hand_off]

    def last_steps(self, number: int) -> Flow:
        """A flow of the last `number` steps."""
        hidden = max(0, len(self.steps) - number)
        return Flow(self.steps[hidden:], self.earlier + hidden)

    def excerpts(self, number: int, count: int) -> list[Flow]:
        """Cut the last `count` steps; if step `number` is not among them, its neighbours and half as many of the last."""
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
    """The flow of exchanges that have been assigned to lanes."""
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


USER_NAME, API_NAME, TOOLS_NAME = "user", "API", "tools"
_PARTICIPANT_KINDS = {USER_NAME: "actor"}


@dataclass(frozen=True, slots=True)
class _Arrow:
    """An arrow of a diagram, from one participant to another."""

    source: str
    target: str
    text: str
    head: str = "->>"

    def render(self, ids: dict[str, str]) -> str:
        return f"{ids[self.source]}{self.head}{ids[self.target]}: {_escape_mermaid(self.text)}"


def _draw_arrows(steps: Sequence[FlowStep]) -> Iterator[_Arrow]:
    names: dict[str, str] = {}
    for step in steps:
        lane, hand_off = _participant_name(step.lane), step.hand_off
        for item in step.new_items[-MAX_ITEMS:]:
            if not (hand_off and item.get("call_id") == hand_off.call_id):
                yield from _input_arrows(lane, item, names)
        if hand_off:
            yield _Arrow(_participant_name(hand_off.by), lane, f"{hand_off.name} ({hand_off.call_id})")
        yield _Arrow(lane, API_NAME, f"{step.number}. {step.endpoint or 'POST /responses'}")
        for item in step.output_items:
            names[as_string(item.get("call_id"))] = item_line(item)
            yield from _output_arrows(lane, item)
        if step.failure:
            yield _Arrow(API_NAME, lane, step.failure, "--x")
        elif step.status or not step.output_items:
            yield _Arrow(API_NAME, lane, step.status or "done", "-->>")


def _participant_name(lane: str) -> str:
    return f"agent {lane}" if lane in (USER_NAME, API_NAME, TOOLS_NAME) else lane


def _input_arrows(lane: str, item: Json, names: dict[str, str]) -> Iterator[_Arrow]:
    """The arrows of an input item of a lane: to and from its tools, or from the user."""
    if as_string(item.get("type")).endswith("_output"):
        call = as_string(item.get("call_id"))
        yield _Arrow(lane, TOOLS_NAME, names.get(call, call))
        yield _Arrow(TOOLS_NAME, lane, summarize_item(item), "-->>")
    else:
        yield _Arrow(USER_NAME, lane, item_line(item))


def _output_arrows(lane: str, item: Json) -> Iterator[_Arrow]:
    """The arrows of an output item: to the lane, or to an MCP server and back."""
    if item.get("type") in ("mcp_call", "mcp_list_tools"):
        server = f"MCP server {item.get('server_label')}"
        yield _Arrow(API_NAME, server, f"{item.get('name') or 'list tools'} {as_string(item.get('arguments'))}")
        yield _Arrow(
            server, API_NAME, item_text({"output": item.get("error") or item.get("output") or ""}) or "done", "-->>"
        )
    else:
        yield _Arrow(API_NAME, lane, item_line(item), "-->>")


def _escape_mermaid(text: str) -> str:
    """A text for Mermaid: one shortened line, special characters replaced by their numbers."""
    flat = " ".join(shorten(text).split())
    return _MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", flat) or "…"
