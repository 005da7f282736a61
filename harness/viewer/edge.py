"""When requests came and answers went out, as the viewer shows it: in milliseconds since the case began."""

from __future__ import annotations

from harness.core.edge import EdgeTimes
from harness.core.exchange import Exchange
from harness.core.text.shorten import pluralize
from harness.viewer.case_model import Edge
from harness.world.world import World


def began_at(world: World) -> float | None:
    """When the first request of a World that is still in its journal came, in unix seconds; None where nobody knows."""
    first = next((seen for exchange in world.exchanges if (seen := world.edge.get(exchange.number))), None)
    return first.arrived if first else None


def show_edge(exchange: Exchange, world: World, began: float | None) -> Edge:
    """Show what the edge saw of an exchange; of a recording only whether it broke off is known."""
    seen = world.edge.get(exchange.number)
    if seen is None or began is None:
        return Edge(cut=exchange.answer.disconnection)
    return Edge(
        _milliseconds(seen.arrived, began),
        _milliseconds(seen.first_byte, began),
        _milliseconds(seen.last_byte, began),
        seen.events,
        seen.size or None,
        _describe_cut(exchange, seen),
        None if seen.left is None else _milliseconds(seen.arrived + seen.left, began),
        seen.connection or None,
    )


def _describe_cut(exchange: Exchange, seen: EdgeTimes) -> str:
    """Word where an answer broke off; empty for one that is whole, or still on its way."""
    if not exchange.answer.disconnection and (seen.whole or not seen.ended):
        return ""
    if exchange.answer.disconnection == "no answer":
        return "no answer"
    return f"cut off after {pluralize(seen.events or 0, 'event')}" if exchange.answer.events is not None else "cut off"


def _milliseconds(at: float | None, began: float) -> float | None:
    return None if at is None else round((at - began) * 1000, 3)
