"""What `harness serve` prints at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi
    from harness.world.world import World

MAX_LOSSES = 5
"""How many losses are listed at the end, the first ones."""


def summarize_worlds(mock: MockApi) -> Iterator[str]:
    """Summarize what the Worlds of a server had: a line for each that had problems, and how many were dropped."""
    from harness.core.text.shorten import pluralize

    yield from filter(None, map(_summarize_world, mock.worlds.values()))
    if count := mock.dropped_count:
        yield f"dropped and not judged: {pluralize(count, 'World')}, to keep no more than --worlds"


def _summarize_world(world: World) -> str:
    """Summarize the problems of a World in one line; empty when there were none."""
    from harness.analysis.flow_steps import is_unanswered
    from harness.analysis.loss import losses_of
    from harness.core.text.shorten import pluralize, shorten

    unanswered = sum(is_unanswered(exchange) for exchange in world.exchanges)
    refused = sum(answered.status >= 400 and not answered.is_routed for answered in world.exchanges) - unanswered
    lost = [f"{observed.loss} in {observed.exchange}" for observed in losses_of(world.exchanges)]
    named = ", ".join([*lost[:MAX_LOSSES], *(["…"] if lost[MAX_LOSSES:] else [])])
    losses = f"{len(lost)} {'loss' if len(lost) == 1 else 'losses'} ({named})" if lost else ""
    unexpected = len(world.refusals.unasked)
    note = f" ({unexpected} unexpected)" if unexpected else ""
    shown = len(world.shown_otherwise)
    wrong = [
        f"{refused} refused{note}" if refused else "",
        f"{unanswered} unanswered" if unanswered else "",
        losses,
        f"{shown} shown otherwise than said" if shown else "",
    ]
    return (
        ", ".join([f"{shorten(world.name, 24)}: {pluralize(world.exchange_count, 'exchange')}", *filter(None, wrong)])
        if any(wrong)
        else ""
    )
