"""The verdict of a run, from what the mock saw and what the client showed."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.loss import losses_in_accepted
from harness.core.text.shorten import quote
from harness.examine.case import ClientCase, ObservedRun
from harness.examine.cell import FIX
from harness.explain.model import Cause
from harness.explain.verdict import find_verdict


def find_reasons(case: ClientCase, seen: ObservedRun) -> Iterator[str]:
    """Why a run is no pass: what the API refused, what was lost or never asked for, what the user did not see.

    The error that the user sees comes first; a reason that has an advice ends with it, in a line of its own.
    """
    world = seen.mock.world
    losses = [lost for lost in losses_in_accepted(world.exchanges) if lost.loss not in case.losses]
    yield from _describe_error(case, seen)
    yield from map(_describe_cause, find_verdict(world, losses, unused=not case.spare, strays=True))
    for check in case.checks:
        yield from check(seen)


def _describe_cause(cause: Cause) -> str:
    return f"{cause.what}\n{FIX}{cause.fix}" if cause.fix else cause.what


def _describe_error(case: ClientCase, seen: ObservedRun) -> Iterator[str]:
    error = seen.outcome.error
    if error is not None and not case.fails:
        yield f"the task ended in an error: {error.get('type')}: {quote(str(error.get('message')), 200)}"
