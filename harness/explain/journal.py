"""The journal of a World as text, a line for each of the newest exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from harness.analysis.lanes import CLIENT_LANE, is_probe
from harness.core.exchange import Exchange
from harness.core.loose_json import as_object
from harness.core.text.shorten import answer_error, pluralize, shorten, summarize_input

MAX_LINES = 20
"""How many lines are shown, the newest ones."""


def render_journal(exchanges: Sequence[Exchange], lanes: Mapping[str, Sequence[Exchange]] | None = None) -> str:
    """Render a line for each of the newest exchanges: number, method and path, model, input, status, rule or disconnection.

    With the `lanes` of several agents, the lane stands behind the number.
    """
    groups = [
        list(group) for _, group in groupby(exchanges, lambda exchange: not is_probe(exchange) and exchange.number)
    ]
    shown = groups[-MAX_LINES:]
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
