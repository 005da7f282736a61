"""Judges a run: the reasons why it does not pass, and briefly how it ended for the client's user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.analysis.lanes import asks_model
from harness.analysis.loss import losses_in_accepted
from harness.core.exchange import Exchange
from harness.core.text import quote, shorten
from harness.examine.case import ClientCase, ObservedRun
from harness.examine.cell import FIX
from harness.examine.client_process import Crashed, Done, Hung
from harness.examine.outcome import Outcome
from harness.explain.verdict import find_verdict


def find_reasons(case: ClientCase, seen: ObservedRun) -> Iterator[str]:
    """Yield why a run does not pass: what the API refused, what was lost or not requested, what the user did not see.

    The error that the user sees comes first; a reason with a fix has it in the last line.
    """
    world = seen.mock.world
    losses = [lost for lost in losses_in_accepted(world.exchanges) if lost.loss not in case.losses]
    error = seen.outcome.error
    if error is not None and not case.fails:
        yield f"the task ended in an error: {error.get('type')}: {quote(str(error.get('message')), 200)}"
    for cause in find_verdict(world, losses, unused=not case.spare, strays=True):
        yield f"{cause.what}\n{FIX}{cause.fix}" if cause.fix else cause.what
    for check in case.checks:
        yield from check(seen)


ANSWER, SO_FAR, NOTHING = "the answer", "the text so far", "an empty answer"
HANGS, DIES = "it hangs", "it dies"
MAX_ERROR = 40
"""The maximum number of characters of an error's name."""
_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def describe_end(ended: Done | Crashed | Hung, exchanges: Sequence[Exchange]) -> str:
    """Describe how a run ended: `the answer`, the name of the error with its status, or what came instead.

    An answer whose last exchange with a model was incomplete is `the text so far`.
    """
    if isinstance(ended, Hung):
        return HANGS
    return DIES if isinstance(ended, Crashed) else _describe_outcome(ended.outcome, exchanges)


def count_asks(exchanges: Sequence[Exchange]) -> int:
    """Count the requests that asked a model."""
    return sum(asks_model(exchange.request) for exchange in exchanges)


def _describe_outcome(outcome: Outcome, exchanges: Sequence[Exchange]) -> str:
    if error := outcome.error:
        status = error.get("status")
        return f"{shorten(str(error.get('type')), MAX_ERROR)}{f' {status}' if status else ''}"
    if not outcome.text:
        return NOTHING
    asked = [exchange for exchange in exchanges if asks_model(exchange.request)]
    return ANSWER if not asked or _is_whole(asked[-1]) else SO_FAR


def _is_whole(exchange: Exchange) -> bool:
    """Return whether an answer is complete: not cut, and a stream of a response has its final event."""
    answer = exchange.answer
    if answer.disconnection:
        return False
    types = {event.get("type", "") for event in answer.events or ()}
    return not any(type.startswith("response.") for type in types) or bool(types & _LAST_EVENTS)
