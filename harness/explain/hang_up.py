"""Answers that a client did not wait for."""

from __future__ import annotations

from harness.explain.model import Cause
from harness.world.world import World

HANG_UP_FIX = (
    "Give the client more time than the answer takes (its `timeout`), let it ask once (`max_retries=0`), read its stream "
    "to the end, or script a turn for the second request."
)


def hang_up_causes(world: World) -> list[Cause]:
    """Explain the answers that a client did not wait for, the newest first."""
    shown = {exchange.number for exchange in world.exchanges}
    return [
        Cause(f"The client {describe_hang_up(world, number)}.", number, fix=HANG_UP_FIX)
        for number in sorted(shown.intersection(world.hang_ups), reverse=True)
    ]


def describe_hang_up(world: World, number: int) -> str:
    """Word after how long the client hung up on a request."""
    return f"hung up on request {number} after {world.hang_ups[number]:.1f} s"
