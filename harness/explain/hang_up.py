"""Answers that a client did not wait for."""

from __future__ import annotations

from harness.explain.model import Cause
from harness.world.world import World

HANG_UP = "The client hung up before its answer had ended."
HANG_UP_FIX = (
    "Give the client more time than the answer takes (its `timeout`), let it ask once (`max_retries=0`), read its stream "
    "to the end, or script a turn for the second request."
)


def hang_up_causes(world: World) -> list[Cause]:
    """Explain the answers that a client did not wait for, the newest first."""
    described = ((exchange.number, describe_hang_up(world, exchange.number)) for exchange in reversed(world.exchanges))
    return [
        Cause(f"The client {text}.", number, "hang_up", general=HANG_UP, fix=HANG_UP_FIX)
        for number, text in described
        if text
    ]


def describe_hang_up(world: World, number: int) -> str:
    """Word after how long the client hung up on a request; empty if it did not."""
    left = world.edge[number].left if number in world.edge else None
    return "" if left is None else f"hung up on request {number} after {left:.1f} s"
