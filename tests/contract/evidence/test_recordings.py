"""Recorded traffic that nobody here wrote, judged as anyone would judge it: `harness verify` on the whole of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.exchange import Json
from harness.verify.output import count_reasons
from harness.verify.run import Tally, verify_recordings
from tests.support.shared import READS_RECORDINGS, RECORDINGS

pytestmark = READS_RECORDINGS

EDITED = {
    "openai_resp/tools_completed_no_output_field": "the output of the last event was taken out",
    "test_openai_responses_model_file_search_tool": "`vector_store_ids` became `file_store_ids`",
    "usage_without_tokens_details": "members of the usage were taken out",
}
"""Recordings that are not as the API sent them, although nothing in them shows that."""
OPEN = ("reasoning_generate_summary.yaml", "uploaded_file-image-openai_responses")
"""Recordings of which the API's reason, or its day, is not known well enough."""


@pytest.fixture(scope="module")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    return verify_recordings(RECORDINGS, tmp_path_factory.mktemp("spools"))


def genuine(tally: Tally, at: str) -> list[Json]:
    return [entry for entry in tally.entries(at) if not any(part in entry.get("id", "") for part in (*EDITED, *OPEN))]


def test_the_figures(tally: Tally, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nrecorded traffic: {dict(sorted(tally.counts.items()))}")
        for at in ("requests.unverifiable", "refusals.unverifiable", "skipped"):
            print(f"  {at}: {count_reasons(tally, at)}")
    assert tally.counts["exchanges"] > 6000
    assert tally.counts["requests.accepted"] > 5500
    assert tally.counts["refusals.same"] > 370
    assert tally.counts["answers.unverifiable"] + tally.counts["streams.unverifiable"] < 20
    assert tally.counts["requests.unverifiable"] + tally.counts["refusals.unverifiable"] < 120


def test_no_request_that_the_api_took_is_refused(tally: Tally) -> None:
    assert genuine(tally, "requests.refused") == []


def test_every_refusal_is_made_in_the_recorded_words(tally: Tally) -> None:
    assert genuine(tally, "refusals.different") == []
    assert genuine(tally, "refusals.missed") == []


def test_every_answer_and_every_stream_conforms(tally: Tally) -> None:
    assert genuine(tally, "answers.findings") == []
    assert genuine(tally, "streams.findings") == []
    assert len([*tally.entries("answers.findings"), *tally.entries("streams.findings")]) < 10


def test_no_member_of_an_answer_is_unknown(tally: Tally) -> None:
    unknown = [entry for at in ("answers.drift", "streams.drift") for entry in genuine(tally, at)]
    assert [entry for entry in unknown if entry["message"].startswith("unknown")] == []


def test_everything_is_read_and_judged(tally: Tally) -> None:
    assert list(tally.entries("unreadable")) == []


def test_what_was_edited_is_in_the_traffic(tally: Tally) -> None:
    reported_ids = [
        entry["id"]
        for at in ("requests.refused", "answers.findings", "streams.findings")
        for entry in tally.entries(at)
    ]
    assert [part for part in EDITED if not any(part in id for id in reported_ids)] == []


def test_the_recordings_are_where_the_readme_says() -> None:
    assert str(Path("shared", "corpus")) in (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
