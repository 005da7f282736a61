"""Judges a World outside pytest: whether a test on it should fail, and what its report says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.analysis.judgement import LossPolicy
from harness.analysis.loss import LOSSES, Lost
from harness.core.text import pluralize
from harness.explain.cause import Cause
from harness.explain.find_causes import find_causes, find_suspects
from harness.explain.render import render_causes, render_section
from harness.report.report import count_unknown_models, unknown_model_lines
from harness.world.mock import Mock
from harness.world.world import World


class Judgement(NamedTuple):
    """The outcome for a World: `verdict` says why a test fails, empty if it passes.

    `report` is led by the first cause; `losses` are all that the policy looks for.
    """

    verdict: str
    report: str
    causes: Sequence[Cause] = ()
    losses: Sequence[Lost] = ()


@dataclass(frozen=True, slots=True)
class Permitted:
    """The findings that do not fail a run: `unused` turns, and losses that the policy permits."""

    unused: bool = False
    losses: LossPolicy = field(default_factory=LossPolicy)


NOTHING_PERMITTED = Permitted()


def judge_world(mock: Mock, permitted: Permitted = NOTHING_PERMITTED, *, verbose: bool = False) -> Judgement:
    """Judge everything that has happened in a World, except what is `permitted`.

    With `verbose`, the report shows every cause in full, with the evidence and the bodies.
    """
    _ = mock.deliveries  # reading them first delivers what is due at webhooks
    losses = permitted.losses.find(mock.exchanges, mock.world.observed)
    failing = permitted.losses.find_failing(losses, mock.exchanges, mock.world.observed)
    verdict = find_causes(mock.world, failing, unused=not permitted.unused, shown=permitted.losses.is_judged)
    certain = [lost for lost in losses if not LOSSES[lost.loss].strict]
    causes = verdict or find_suspects(mock.world, certain)
    report = render_section(mock.world, causes, verbose=verbose)
    models = "\n".join(unknown_model_lines(count_unknown_models(mock.world)))
    return Judgement(
        render_causes(verdict, mock.world.vocabulary),
        "\n\n".join(filter(None, [report, models, _name_dropped(mock.world)])),
        causes,
        losses,
    )


def _name_dropped(world: World) -> str:
    """Return a line with the number of exchanges that the journal has dropped; empty if it still has all."""
    if not (count := world.exchange_count - len(world.exchanges)):
        return ""
    return (
        f"Not checked for losses: the first {pluralize(count, 'exchange')}, which the journal (--journal) has dropped."
    )
