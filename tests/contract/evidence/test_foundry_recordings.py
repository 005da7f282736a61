"""Recorded traffic of Foundry projects, judged as anyone would judge it: `harness verify --respell`."""

from __future__ import annotations

import pytest

from harness.verify.judging.verdict import FINDINGS
from harness.verify.output import count_reasons
from harness.verify.run import JudgeOptions, Tally, verify_recordings
from tests.support.shared import FOUNDRY_RECORDINGS, READS_RECORDINGS

pytestmark = READS_RECORDINGS

CUT = ("js_a2a_stream_2026-03-17-cut", "js_sharepoint_stream_2026-03-17-cut")
"""Streams that skip numbers, because whoever wrote them down left events out."""


@pytest.fixture(scope="module")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    return verify_recordings([FOUNDRY_RECORDINGS], tmp_path_factory.mktemp("spools"), 1, JudgeOptions(respelled=True))


@pytest.mark.parametrize("at", FINDINGS)
def test_no_finding_is_the_mocks(tally: Tally, at: str) -> None:
    assert [entry for entry in tally.entries(at) if not any(part in str(entry) for part in CUT)] == []


def test_nothing_is_passed_over_that_can_be_judged(tally: Tally) -> None:
    assert count_reasons(tally, "skipped") == {"not judged: /evals": 1}
    assert count_reasons(tally, "requests.unverifiable") == {}
    assert count_reasons(tally, "refusals.unverifiable") == {
        "another client of the project may have deleted it": 1,
        "it depends on the account": 1,
    }
    assert tally.counts["exchanges"] > 180
