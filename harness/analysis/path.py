"""The path of a journal: its agents, calls and messages, in order and in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from harness.analysis.approval_ledger import APPROVAL_REQUEST, MCP_CALL, Approval
from harness.analysis.call_ledger import Call, call_arguments, collect_calls, parse_arguments
from harness.analysis.flow_steps import FlowStep, build_steps
from harness.analysis.lanes import CLIENT_LANE, assign_lanes, without_probes
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, as_string
from harness.core.text import item_text, quote, shorten

_SILENT_TYPES = frozenset({"reasoning", "mcp_list_tools"})
"""Items that are not steps of a path."""
_WIDTH = 40
"""The maximum number of characters shown of a value, a message or an output."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step: the number of its exchange, the agent, and a description.

    `name` is the name of the call, else the type of the item; empty for a failure.
    """

    exchange: int
    agent: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of a path; `str()` joins them in one line and names the agent wherever it changes."""

    steps: tuple[PathStep, ...] = ()

    def __str__(self) -> str:
        return " → ".join(self._words()) or "nothing happened"

    @property
    def agents(self) -> list[str]:
        """The agents in the order in which they took over, without `client`, which asks no model."""
        names = [step.agent for step in self.steps if step.agent != CLIENT_LANE]
        return [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]

    def first_of(self, name: str) -> PathStep | None:
        """Find the first step with this name."""
        return next((step for step in self.steps if step.name == name), None)

    @property
    def names(self) -> list[str]:
        """The distinct names of the steps, in order."""
        return list(dict.fromkeys(step.name for step in self.steps if step.name))

    def _words(self) -> Iterator[str]:
        agent = ""
        for step in self.steps:
            if step.agent != agent:
                yield step.agent
            agent = step.agent
            if step.text:
                yield step.text


def build_path(exchanges: Sequence[Exchange], hints: Sequence[str] = (), approvals: Iterable[Approval] = ()) -> Path:
    """Build the path of these exchanges; `hints` are names for agents, `approvals` the answers to approval requests."""
    calls = {call.call_id: call for call in collect_calls(exchanges)}
    answers = {approval.id: approval for approval in approvals}
    steps = build_steps(assign_lanes(without_probes(exchanges), hints))
    return Path(tuple(step for flow_step in steps for step in _steps_of(flow_step, calls, answers)))


def show_call(name: str, arguments: Any, result: str = "") -> str:
    """Render a call in one line: `get_weather(city=Paris) ✓ 18 °C`."""
    if isinstance(arguments, Mapping):
        shown = ", ".join(f"{member}={_show_value(value)}" for member, value in arguments.items())
    else:
        shown = _show_value(arguments)
    return " ".join(filter(None, [f"{name}({shorten(shown, 2 * _WIDTH)})", result]))


def show_outputs(outputs: Sequence[Any]) -> str:
    """Render the outputs of a call: the last one, and how many there were if more than one."""
    if not outputs:
        return "unanswered"
    output = outputs[-1]
    text = output if isinstance(output, str) else item_text({"output": output}) or _show_value(output)
    often = f" (answered {len(outputs)} times)" if len(outputs) > 1 else ""
    return f"✓ {_in_line(text)}{often}".strip()


def show_approval(approve: bool | None) -> str:
    """Render the answer to an approval request."""
    if approve is None:
        return "unanswered"
    return "approved" if approve else "denied"


def _steps_of(step: FlowStep, calls: Mapping[str, Call], approvals: Mapping[str, Approval]) -> Iterator[PathStep]:
    for item in step.output_items:
        kind = as_string(item.get("type")) or "message"
        if kind not in _SILENT_TYPES:
            name = as_string(item.get("name")) or kind
            yield PathStep(step.number, step.lane, name, _show_item(item, kind, name, calls, approvals))
    for end in filter(None, (step.status, step.failure)):
        yield PathStep(step.number, step.lane, "", shorten(end, 2 * _WIDTH))


def _show_item(item: Json, kind: str, name: str, calls: Mapping[str, Call], approvals: Mapping[str, Approval]) -> str:
    if kind == "message":
        return quote(item_text(item), _WIDTH)
    if call := calls.get(as_string(item.get("call_id"))):
        return show_call(name, call.parsed_arguments, show_outputs([output for _, output in call.outputs]))
    if kind == APPROVAL_REQUEST:
        known = approvals.get(as_string(item.get("id")))
        return show_call(name, parse_arguments(call_arguments(item)), show_approval(known.approve if known else None))
    if kind == MCP_CALL:
        error = item.get("error")
        result = f"✗ {_in_line(_show_value(error))}" if error else show_outputs([item.get("output")])
        return show_call(name, parse_arguments(call_arguments(item)), result)
    query = as_object(item.get("action")).get("query")
    return show_call(name, query) if query else name


def _show_value(value: Any) -> str:
    return _in_line(value if isinstance(value, str) else orjson.dumps(value, default=str).decode())


def _in_line(text: str) -> str:
    return shorten(" ".join(text.split()), _WIDTH)
