"""Renders causes as text: the first in a block of at most 12 lines, the others one line each; the section of a test.

The section of a failed test shows the causes, then the flow; evidence and bodies only on demand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import indent, wrap
from typing import Any, Protocol

from harness.analysis.flow import Flow
from harness.analysis.lanes import CLIENT_LANE, is_probe
from harness.analysis.loss import Lost
from harness.core.advice_wording import Vocabulary
from harness.core.exchange import Exchange, answer_error
from harness.core.json_values import as_object
from harness.core.text import escape_controls, pluralize, shorten, summarize_input
from harness.explain.cause import Cause
from harness.explain.find_causes import find_causes
from harness.explain.refusal import describe_sources
from harness.world.mock import Mock
from harness.world.world import World

CAUSE_WIDTH = 120
"""The maximum length of a line of a cause."""
MAX_CAUSE_LINES = 12
"""The maximum number of lines of a cause."""
MAX_OTHERS = 5
"""The maximum number of further causes that are named."""
_MAX_WHAT_LINES = 3
_MAX_ROW_LINES = {"sent": 2, "fix": 3, "allow": 2, "expect": 2, "source": 2}
"""The maximum number of lines of a row; the first other row, usually `where`, gets the rest."""
_LABEL_WIDTH = 10

SECTION_TITLE = "responses-harness"
DIAGRAM_TITLE = "responses-harness: the flow as a Mermaid diagram"
MAX_STEPS = 20
"""The maximum number of exchanges of the flow that are shown, the newest ones."""
MAX_DETAILED = 5
"""The maximum number of causes that are shown in full on demand."""
NO_LIMIT = 1000
"""More lines than any cause has: it is shown with its evidence."""
MAX_JOURNAL_LINES = 20
"""The maximum number of lines of the journal that are shown, the newest ones."""


def render_verdict(world: World, losses: Sequence[Lost] = (), **judged: bool) -> str:
    """Render the causes that `find_causes` finds; empty if the test does not fail."""
    return escape_controls(render_causes(find_causes(world, losses, **judged), world.vocabulary))


def render_causes(causes: Sequence[Cause], vocabulary: Vocabulary | None = None) -> str:
    """Render the first cause in full, the others one line each; empty without any.

    The `vocabulary` says how to show them all.
    """
    if not causes:
        return ""
    return "\n".join([render_cause(causes[0]), *_name_others(causes[1:], vocabulary)])


class Explained(Protocol):
    """What went wrong, and a text with its label for each row: a cause, or a cause as a page shows it."""

    @property
    def what(self) -> str: ...  # noqa: D102

    @property
    def rows(self) -> Sequence[tuple[str, str]]: ...  # noqa: D102


def render_cause(cause: Explained, max_lines: int = MAX_CAUSE_LINES) -> str:
    """Render a cause as a block: `what`, and one or more lines for each row; longer texts end in `…`.

    Its evidence is shown if there is no limit.
    """
    head = _wrap_lines(cause.what, CAUSE_WIDTH, _MAX_WHAT_LINES)
    rows = [(label, text) for label, text in cause.rows if label != "source" or max_lines == NO_LIMIT]
    others = {label: _fit_row(text, _MAX_ROW_LINES[label]) for label, text in rows if label in _MAX_ROW_LINES}
    taken = len(head) + sum(map(len, others.values())) + len(rows) - len(others) - 1
    lines = list(head)
    for label, text in rows:
        fitted = others.get(label) or _fit_row(text, max(1, max_lines - taken))
        taken += 0 if label in others else len(fitted) - 1
        lines += [f"  {label:<{_LABEL_WIDTH - 2}}{fitted[0]}", *(" " * _LABEL_WIDTH + line for line in fitted[1:])]
    return "\n".join(lines)


def render_section(world: World, causes: Sequence[Cause], *, shown: str = "", verbose: bool = False) -> str:
    """Render the section of a failure: its causes, unless the text `shown` already contains them, and the flow.

    With `verbose`, every cause in full, and the journal, the evidence of the rules and the bodies of the first cause.
    """
    first = render_cause(causes[0], NO_LIMIT) if causes and verbose else render_causes(causes, world.vocabulary)
    parts = ["" if escape_controls(first) in shown else first, _render_flow(world, causes[0].exchange if causes else 0)]
    if verbose:
        parts += _render_details(world, causes)
    return escape_controls("\n\n".join(filter(None, parts)))


def render_diagram(world: World) -> str:
    """Render the newest part of the flow as a Mermaid diagram; empty if there was no request."""
    return escape_controls(Mock(world).flow.last_steps(MAX_STEPS).mermaid) if world.exchanges else ""


def _name_others(others: Sequence[Cause], vocabulary: Vocabulary | None) -> Iterator[str]:
    if others:
        yield f"and {len(others)} more{f'; {vocabulary.show_more} shows them' if vocabulary else ''}:"
    for cause in others[:MAX_OTHERS]:
        yield "  " + _wrap_lines(cause.what, CAUSE_WIDTH - 2, 1)[0]
    if (hidden := len(others) - MAX_OTHERS) > 0:
        yield f"  … {pluralize(hidden, 'other')}"


def _fit_row(text: str, max_lines: int) -> list[str]:
    lines = text.strip("\n").splitlines()
    if len(lines) == 1:
        return _wrap_lines(lines[0], CAUSE_WIDTH - _LABEL_WIDTH, max_lines)
    shown = lines if len(lines) <= max_lines else [*lines[: max_lines - 1], f"… {len(lines) - max_lines + 1} more"]
    return [shorten(line, CAUSE_WIDTH - _LABEL_WIDTH) for line in shown]


def _wrap_lines(text: str, width: int, max_lines: int) -> list[str]:
    return wrap(" ".join(text.split()), width, max_lines=max_lines, placeholder=" …", break_on_hyphens=False) or [""]


def _render_flow(world: World, number: int) -> str:
    """Render the newest part of the flow, and in a long flow also the steps around exchange `number` (0 for none).

    The error of that exchange is not repeated, since the cause above contains it.
    """
    if not world.exchanges:
        return ""
    excerpts = Mock(world).flow.excerpts(number, MAX_STEPS)
    return "\n".join(_name_failure_once(excerpt, number).text for excerpt in excerpts)


def _name_failure_once(flow: Flow, number: int) -> Flow:
    """Shorten the error of the step whose exchange the cause above explains."""
    steps = [
        step._replace(failure=f"{step.failure.partition(':')[0]}, see above")
        if step.failure and step.number == number
        else step
        for step in flow.steps
    ]
    return Flow(steps, flow.earlier)


def _render_details(world: World, causes: Sequence[Cause]) -> Iterator[str]:
    yield from (render_cause(cause, NO_LIMIT) for cause in causes[1:MAX_DETAILED])
    yield render_journal(world.exchanges, Mock(world).lanes)
    exchanges = {exchange.number: exchange for exchange in world.exchanges}
    shown = [exchanges[cause.exchange] for cause in causes[:MAX_DETAILED] if cause.exchange in exchanges]
    for id in dict.fromkeys(exchange.answer.rule or "" for exchange in shown):
        if rule := world.rules.get(id):
            yield "\n".join([f"{id}:", *(indent(text, "  ") for text in [rule.doc, *describe_sources(rule)])])
    yield from map(_render_bodies, shown[:1])


def _render_bodies(exchange: Exchange) -> str:
    request = exchange.request
    sent = request.body if request.body is not None else request.raw.decode("utf-8", "replace")
    named = ((f"Request {exchange.number}", sent), (f"Answer {exchange.number}", exchange.answer.body))
    return "\n".join(
        f"{name}:\n{indent(_render_body(body), '  ')}" for name, body in named if body not in (None, "", b"")
    )


def _render_body(body: Any) -> str:
    if isinstance(body, bytes):
        return f"{pluralize(len(body), 'byte')}"
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2, default=str)


def render_journal(exchanges: Sequence[Exchange], lanes: Mapping[str, Sequence[Exchange]] | None = None) -> str:
    """Render the newest exchanges, a line each: number, method, path, model, input, status, rule or disconnection.

    With the `lanes` of several agents, the lane follows the number.
    """
    # Consecutive probes share one line.
    groups = [
        list(group) for _, group in groupby(exchanges, lambda exchange: not is_probe(exchange) and exchange.number)
    ]
    shown = groups[-MAX_JOURNAL_LINES:]
    lane_by_number = {exchange.number: name for name, members in (lanes or {}).items() for exchange in members}
    has_agents = len(set(lane_by_number.values()) - {CLIENT_LANE}) > 1
    rows = [_group_row(group, lane_by_number[group[0].number] if has_agents else None) for group in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if hidden := len(exchanges) - sum(map(len, shown)):
        lines.insert(0, f"… {pluralize(hidden, 'earlier request')}")
    return "\n".join(lines)


def _group_row(group: Sequence[Exchange], lane: str | None) -> tuple[str, ...]:
    if len(group) == 1:
        return _exchange_row(group[0], lane)
    numbers, what = f"{group[0].number:>3}-{group[-1].number}", f"{len(group)} requests for paths that the API lacks"
    return (numbers, *([shorten(lane, 24)] if lane else []), what, "", "", str(group[0].status), "")


def _exchange_row(exchange: Exchange, lane: str | None) -> tuple[str, ...]:
    request = exchange.request
    body = as_object(request.body)
    refused = exchange.answer.rule or (answer_error(exchange).get("code") if exchange.status >= 400 else None)
    return (
        f"{exchange.number:>3}",
        *([shorten(lane, 24)] if lane else []),
        f"{request.method} {shorten(request.path, 40, tail=13)}",
        shorten(str(body.get("model") or ""), 24),
        summarize_input(body.get("input")),
        str(exchange.status),
        str(refused or exchange.answer.disconnection),
    )
