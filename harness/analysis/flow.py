"""The flow of a journal as text and as a diagram, and excerpts of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.flow_steps import MAX_ITEMS, FlowStep, build_steps, item_line
from harness.analysis.lanes import HandOff, LaneExchange
from harness.analysis.sequence import SequenceDiagram, draw_sequence
from harness.core.text import pluralize, shorten

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
