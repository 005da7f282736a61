"""The judgement of a World from outside of pytest: whether a test on it should fail, and what it would show."""

from __future__ import annotations

from typing import NamedTuple

from harness.analysis.loss import losses_in_accepted
from harness.core.text.shorten import pluralize
from harness.report import failure
from harness.report.cause import render_causes
from harness.report.unknown_models import count_unknown_models, unknown_model_lines
from harness.world.mock import Mock
from harness.world.strays import StrayLog
from harness.world.world import World


class Judgement(NamedTuple):
    """`verdict` is why a test fails, empty when it does not; `report` is its text, which begins with the cause."""

    verdict: str
    report: str


def judge_world(mock: Mock, *, unused: bool = True, losses: bool = True, verbose: bool = False) -> Judgement:
    """Judge all that has happened in a World; `unused` and `losses` say whether unused turns and losses fail.

    With `verbose` the report has every cause in full, the evidence and the bodies.
    """
    lost = losses_in_accepted(mock.exchanges) if losses else ()
    verdict = failure.find_verdict(mock.world, lost, unused=unused, shown=losses)
    causes = verdict or failure.find_suspects(mock.world, mock.losses)
    report = failure.render_section(mock.world, causes, verbose=verbose)
    models = "\n".join(unknown_model_lines(count_unknown_models(mock.world)))
    return Judgement(
        render_causes(verdict, mock.world.vocabulary),
        "\n\n".join(filter(None, [report, models, _name_dropped(mock.world)])),
    )


def judge_strays(strays: StrayLog) -> str:
    """Why a run fails for requests whose keys lead to no World; empty when none came."""
    if not strays.kept:
        return ""
    _, (request, answer, *_) = strays.kept[-1]
    error = answer.body.get("error", answer.body) if isinstance(answer.body, dict) else {}
    return (
        f"{pluralize(strays.number, 'request')} came with a key that the mock does not know, the last one "
        f"{request.method} {request.path}: {answer.status} {error.get('message', '')}"
    )


def _name_dropped(world: World) -> str:
    """How many exchanges the journal does not have any more; empty when it has all."""
    if not (count := world.exchange_count - len(world.exchanges)):
        return ""
    return f"Not looked at for losses: the first {pluralize(count, 'exchange')}, which the journal (--journal) has dropped."
