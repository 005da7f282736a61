"""Losses of recorded conversations: clients that other people wrote and released, most of which lose nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import Lost, losses_in_accepted
from harness.cassettes.format.recorded import Recorded
from harness.core.exchange import Exchange
from harness.verify.report_cases import rebuild_exchange
from harness.world.world import World
from tests.support.shared import READS_RECORDINGS, recordings

pytestmark = READS_RECORDINGS

KNOWN = {
    *("call-altered", "citation-dropped", "instructions-dropped", "order-changed", "phase-dropped"),
    *("output-printed", "reasoning-dropped", "text-altered"),
}
"""What clients did lose, as looked at one by one: a new kind is looked at before it stands here."""


def conversations() -> Iterable[list[Recorded]]:
    """Return the exchanges of each recorded file."""
    found: dict[str, list[Recorded]] = {}
    for recording in recordings():
        found.setdefault(recording.id.rpartition("#")[0], []).append(recording)
    return found.values()


def journal(recorded: Sequence[Recorded]) -> list[Exchange]:
    world = World()
    for record in recorded:
        if exchange := rebuild_exchange(record, world):
            world.add_exchange(*exchange)
    return world.exchanges


@pytest.fixture(scope="module")
def lost() -> list[list[Lost]]:
    return [losses_in_accepted(journal(conversation)) for conversation in conversations()]


def test_the_figures(lost: list[list[Lost]], capsys: pytest.CaptureFixture[str]) -> None:
    kinds = Counter(loss.loss for losses in lost for loss in losses)
    with capsys.disabled():
        print(f"\nrecorded conversations: {len(lost)}, with losses: {sum(map(bool, lost))}: {dict(kinds)}")
    assert len(lost) > 3800
    assert 80 < sum(map(bool, lost)) < 100


def test_a_client_in_use_has_only_the_losses_that_are_known_of_it(lost: list[list[Lost]]) -> None:
    assert {loss.loss for losses in lost for loss in losses} == KNOWN
