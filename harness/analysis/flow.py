"""A whole flow, from the journal: as a text, and as a Mermaid `sequenceDiagram` that any viewer of Markdown draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.lanes import HandOff, LaneExchange
from harness.analysis.steps import FlowStep, build_steps, item_line
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.shorten import item_text, pluralize, shorten, summarize_item

LINE_WIDTH = 140
"""Characters of a line of a transcript, without number and lane."""
MAX_ITEMS = 12
"""New items of a request that are told, the last ones."""
_MERMAID_SPECIAL = re.compile(r"[#;%<>&$\\\ud800-\udfff\x00-\x1f]")
"""What would end, hide or change a text of a diagram: it is written as its number."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a flow, without `earlier` ones; `str` of it is its text."""

    steps: Sequence[FlowStep]
    earlier: int = 0

    @property
    def text(self) -> str:
        """A transcript: number and lane of each exchange, what was new in it, after → what the model said."""
        width = max((len(step.lane) for step in self.steps), default=0)
        lines = [f"… {pluralize(self.earlier, 'earlier request')}"] if self.earlier else []
        for step in self.steps:
            head = f"{step.number:>3}  {step.lane:<{width}}  "
            told = [shorten(one, LINE_WIDTH) for one in _step_lines(step)] or ["nothing new"]
            lines += [head + told[0], *(" " * len(head) + one for one in told[1:])]
        return "\n".join(lines)

    @property
    def mermaid(self) -> str:
        """A Mermaid diagram: the user, the lanes, the API, the client's tools and the MCP servers."""
        drawn = list(_draw_arrows(self.steps))
        seen = dict.fromkeys(name for arrow in drawn for name in (arrow.source, arrow.target))
        ids = {name: f"P{number}" for number, name in enumerate(seen)}
        head = [
            f"{_PARTICIPANT_KINDS.get(name, 'participant')} {ids[name]} as {_escape_mermaid(name)}" for name in seen
        ]
        return "\n  ".join(["sequenceDiagram", *head, *(arrow.render(ids) for arrow in drawn)])

    @property
    def hand_offs(self) -> list[HandOff]:
        """The outputs of calls that led from one lane to another, in order."""
        return [step.hand_off for step in self.steps if step.hand_off]

    def last_steps(self, number: int) -> Flow:
        """The last so many steps of it."""
        hidden = max(0, len(self.steps) - number)
        return Flow(self.steps[hidden:], self.earlier + hidden)

    def __str__(self) -> str:
        return self.text


def build_flow(sent: Sequence[LaneExchange]) -> Flow:
    """The flow of exchanges whose lanes are known."""
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
    """A message of a diagram, from one participant to another."""

    source: str
    target: str
    text: str
    head: str = "->>"

    def render(self, ids: dict[str, str]) -> str:
        return f"{ids[self.source]}{self.head}{ids[self.target]}: {_escape_mermaid(self.text)}"


def _draw_arrows(told: Sequence[FlowStep]) -> Iterator[_Arrow]:
    names: dict[str, str] = {}
    for step in told:
        lane, led = _participant_name(step.lane), step.hand_off
        for item in step.new_items[-MAX_ITEMS:]:
            if not (led and item.get("call_id") == led.call_id):
                yield from _input_arrows(lane, item, names)
        if led:
            yield _Arrow(_participant_name(led.by), lane, f"{led.name} ({led.call_id})")
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
    """What came into a lane: from its tools, else from the user."""
    if as_string(item.get("type")).endswith("_output"):
        call = as_string(item.get("call_id"))
        yield _Arrow(lane, TOOLS_NAME, names.get(call, call))
        yield _Arrow(TOOLS_NAME, lane, summarize_item(item), "-->>")
    else:
        yield _Arrow(USER_NAME, lane, item_line(item))


def _output_arrows(lane: str, item: Json) -> Iterator[_Arrow]:
    """What the model said, and what it had an MCP server do."""
    if item.get("type") in ("mcp_call", "mcp_list_tools"):
        server = f"MCP server {item.get('server_label')}"
        yield _Arrow(API_NAME, server, f"{item.get('name') or 'list tools'} {as_string(item.get('arguments'))}")
        yield _Arrow(
            server, API_NAME, item_text({"output": item.get("error") or item.get("output") or ""}) or "done", "-->>"
        )
    else:
        yield _Arrow(API_NAME, lane, item_line(item), "-->>")


def _escape_mermaid(told: str) -> str:
    """A text as Mermaid takes it: one line, not too long, special characters by their numbers."""
    flat = " ".join(shorten(told).split())
    return _MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", flat) or "…"
