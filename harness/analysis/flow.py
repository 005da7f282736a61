"""A whole flow, from the journal: as a text, and as a Mermaid `sequenceDiagram` that any viewer of Markdown draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.lanes import HandOff, Sent
from harness.analysis.steps import Step, line, steps
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.core.shorten import item_text, pluralize, shorten, summarize_item

WIDTH = 140
"""Characters of a line of a transcript, without number and lane."""
ITEMS = 12
"""New items of a request that are told, the last ones."""
_SPECIAL = re.compile(r"[#;%<>&$\\\ud800-\udfff\x00-\x1f]")
"""What would end, hide or change a text of a diagram: it is written as its number."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a flow, without `earlier` ones; `str` of it is its text."""

    steps: Sequence[Step]
    earlier: int = 0

    @property
    def text(self) -> str:
        """A transcript: number and lane of each exchange, what was new in it, after → what the model said."""
        width = max((len(step.lane) for step in self.steps), default=0)
        lines = [f"… {pluralize(self.earlier, 'earlier request')}"] if self.earlier else []
        for step in self.steps:
            head = f"{step.number:>3}  {step.lane:<{width}}  "
            told = [shorten(one, WIDTH) for one in _told(step)] or ["nothing new"]
            lines += [head + told[0], *(" " * len(head) + one for one in told[1:])]
        return "\n".join(lines)

    @property
    def mermaid(self) -> str:
        """A Mermaid diagram: the user, the lanes, the API, the client's tools and the MCP servers."""
        drawn = list(_drawn(self.steps))
        seen = dict.fromkeys(name for arrow in drawn for name in (arrow.by, arrow.to))
        ids = {name: f"P{number}" for number, name in enumerate(seen)}
        head = [f"{_KINDS.get(name, 'participant')} {ids[name]} as {_safe(name)}" for name in seen]
        return "\n  ".join(["sequenceDiagram", *head, *(arrow.drawn(ids) for arrow in drawn)])

    @property
    def hand_offs(self) -> list[HandOff]:
        """The outputs of calls that led from one lane to another, in order."""
        return [step.hand_off for step in self.steps if step.hand_off]

    def newest(self, number: int) -> Flow:
        """The last so many steps of it."""
        hidden = max(0, len(self.steps) - number)
        return Flow(self.steps[hidden:], self.earlier + hidden)

    def __str__(self) -> str:
        return self.text


def flow(sent: Sequence[Sent]) -> Flow:
    """The flow of exchanges whose lanes are known."""
    return Flow(tuple(steps(sent)))


def _told(step: Step) -> Iterator[str]:
    if step.asked:
        yield step.asked
    if step.hand_off:
        yield f"handed over by {step.hand_off.by}: {step.hand_off.name} ({step.hand_off.call_id})"
    if (hidden := len(step.given) - ITEMS) > 0:
        yield f"… {pluralize(hidden, 'earlier item')}"
    yield from map(line, step.given[-ITEMS:])
    yield from (f"→ {line(item)}" for item in step.said)
    yield from (f"→ {end}" for end in (step.ended, step.refused) if end)


USER, API, TOOLS = "user", "API", "tools"
_KINDS = {USER: "actor"}


@dataclass(frozen=True, slots=True)
class _Arrow:
    """A message of a diagram, from one participant to another."""

    by: str
    to: str
    text: str
    head: str = "->>"

    def drawn(self, ids: dict[str, str]) -> str:
        return f"{ids[self.by]}{self.head}{ids[self.to]}: {_safe(self.text)}"


def _drawn(told: Sequence[Step]) -> Iterator[_Arrow]:
    names: dict[str, str] = {}
    for step in told:
        lane, led = _participant(step.lane), step.hand_off
        for item in step.given[-ITEMS:]:
            if not (led and item.get("call_id") == led.call_id):
                yield from _brought(lane, item, names)
        if led:
            yield _Arrow(_participant(led.by), lane, f"{led.name} ({led.call_id})")
        yield _Arrow(lane, API, f"{step.number}. {step.asked or 'POST /responses'}")
        for item in step.said:
            names[as_string(item.get("call_id"))] = line(item)
            yield from _answered(lane, item)
        if step.refused:
            yield _Arrow(API, lane, step.refused, "--x")
        elif step.ended or not step.said:
            yield _Arrow(API, lane, step.ended or "done", "-->>")


def _participant(lane: str) -> str:
    return f"agent {lane}" if lane in (USER, API, TOOLS) else lane


def _brought(lane: str, item: Json, names: dict[str, str]) -> Iterator[_Arrow]:
    """What came into a lane: from its tools, else from the user."""
    if as_string(item.get("type")).endswith("_output"):
        call = as_string(item.get("call_id"))
        yield _Arrow(lane, TOOLS, names.get(call, call))
        yield _Arrow(TOOLS, lane, summarize_item(item), "-->>")
    else:
        yield _Arrow(USER, lane, line(item))


def _answered(lane: str, item: Json) -> Iterator[_Arrow]:
    """What the model said, and what it had an MCP server do."""
    if item.get("type") in ("mcp_call", "mcp_list_tools"):
        server = f"MCP server {item.get('server_label')}"
        yield _Arrow(API, server, f"{item.get('name') or 'list tools'} {as_string(item.get('arguments'))}")
        yield _Arrow(
            server, API, item_text({"output": item.get("error") or item.get("output") or ""}) or "done", "-->>"
        )
    else:
        yield _Arrow(API, lane, line(item), "-->>")


def _safe(told: str) -> str:
    """A text as Mermaid takes it: one line, not too long, special characters by their numbers."""
    flat = " ".join(shorten(told).split())
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", flat) or "…"
