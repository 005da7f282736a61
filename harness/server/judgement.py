"""The judgement of a World from outside of pytest: whether a test on it should fail, and what it would show."""

from __future__ import annotations

from typing import NamedTuple

from harness.analysis.loss import losses_in_accepted
from harness.report import failure
from harness.world.mock import Mock


class Judgement(NamedTuple):
    """`verdict` is why a test fails, empty when it does not; `report` is its text, the cause in the first two lines."""

    verdict: str
    report: str


def judge_world(mock: Mock) -> Judgement:
    """Judge all that has happened in a World: unanswered requests, unused turns, losses."""
    verdict = failure.verdict(mock.world, losses_in_accepted(mock.exchanges))
    return Judgement(verdict, failure.render_failure(mock.world, mock.losses, unused=True, verdict=verdict))
