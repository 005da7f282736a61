"""The judgement of a World from outside of pytest: whether a test on it should fail, and what it would show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.analysis.loss_policy import LossPolicy
from harness.core.text.shorten import pluralize
from harness.explain.model import Cause
from harness.explain.render import render_causes, render_section
from harness.explain.verdict import find_suspects, find_verdict
from harness.report.unknown_models import count_unknown_models, unknown_model_lines
from harness.world.mock import Mock
from harness.world.world import World


class Judgement(NamedTuple):
    """`verdict` is why a test fails, empty when it does not; `report` is its text, which begins with the first cause."""

    verdict: str
    report: str
    causes: Sequence[Cause] = ()


@dataclass(frozen=True, slots=True)
class Permitted:
    """The findings that do not fail a run: `unused` turns, and losses that the policy permits."""

    unused: bool = False
    losses: LossPolicy = field(default_factory=LossPolicy)


NOTHING_PERMITTED = Permitted()


def judge_world(mock: Mock, permitted: Permitted = NOTHING_PERMITTED, *, verbose: bool = False) -> Judgement:
    """Judge all that has happened in a World; `permitted` is what is no reason for a verdict.

    With `verbose` the report has every cause in full, the evidence and the bodies.
    """
    _ = mock.deliveries  # what is due at webhooks is delivered before it is judged
    lost = permitted.losses.find_failing(mock.exchanges)
    verdict = find_verdict(mock.world, lost, unused=not permitted.unused, shown=permitted.losses.is_judged)
    causes = verdict or find_suspects(mock.world, mock.losses)
    report = render_section(mock.world, causes, verbose=verbose)
    models = "\n".join(unknown_model_lines(count_unknown_models(mock.world)))
    return Judgement(
        render_causes(verdict, mock.world.vocabulary),
        "\n\n".join(filter(None, [report, models, _name_dropped(mock.world)])),
        causes,
    )


def _name_dropped(world: World) -> str:
    """How many exchanges the journal does not have any more; empty when it has all."""
    if not (count := world.exchange_count - len(world.exchanges)):
        return ""
    return f"Not looked at for losses: the first {pluralize(count, 'exchange')}, which the journal (--journal) has dropped."
