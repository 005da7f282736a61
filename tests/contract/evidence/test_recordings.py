"""Recorded traffic that nobody here wrote, judged as anyone would: `responses-harness verify --respell` on all of it."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.verify.judge_files import JudgeOptions, Tally, verify_recordings
from harness.verify.judging.verdict import FINDINGS
from harness.verify.output import count_reasons
from tests.support.shared import FOUNDRY_RECORDINGS, READS_RECORDINGS, RECORDINGS
from tools.model_facts_met import count_met_facts

pytestmark = READS_RECORDINGS

EDITED = {
    "openai_resp/tools_completed_no_output_field": "the output of the last event was taken out",
    "test_openai_responses_model_file_search_tool": "`vector_store_ids` became `file_store_ids`",
    "usage_without_tokens_details": "members of the usage were taken out",
}
"""Recordings that are not as the API sent them, although nothing in them shows that."""
LEFT = (
    *EDITED,
    *("reasoning_generate_summary.yaml", "uploaded_file-image-openai_responses"),  # the reason or the day is not known
    *("issue-6454-root-definitions", "test_openai_client_tool_search_streaming"),  # not wholly as the API sent them
    *("js_a2a_stream_2026-03-17-cut", "js_sharepoint_stream_2026-03-17-cut"),  # whoever wrote them down left events out
)
"""The recordings that have findings, which `README.md` explains."""

Judged = Callable[..., Tally]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Judge folders of recordings, each once."""
    return cache(
        lambda *folders: verify_recordings(folders, tmp_path_factory.mktemp("spools"), 1, JudgeOptions(respelled=True))
    )


@pytest.mark.parametrize("folders", [RECORDINGS, (FOUNDRY_RECORDINGS,)], ids=["openai and azure", "foundry"])
@pytest.mark.parametrize("at", FINDINGS)
def test_no_finding_is_the_mocks(judged: Judged, folders: tuple[Path, ...], at: str) -> None:
    assert [entry for entry in judged(*folders).entries(at) if not any(part in str(entry) for part in LEFT)] == []


def test_the_figures(judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    tally = judged(*RECORDINGS)
    with capsys.disabled():
        print(f"\nrecorded traffic: {dict(sorted(tally.counts.items()))}")
        for name in ("requests.unverifiable", "refusals.unverifiable", "skipped"):
            print(f"  {name}: {count_reasons(tally, name)}")
    least = {"exchanges": 6000, "requests.accepted": 5500, "refusals.same": 370, "respelled.same": 5000}
    assert {outcome: tally.counts[outcome] for outcome, count in least.items() if tally.counts[outcome] <= count} == {}
    assert tally.counts["answers.unverifiable"] + tally.counts["streams.unverifiable"] < 20
    assert tally.counts["requests.unverifiable"] + tally.counts["refusals.unverifiable"] < 120
    assert len([*tally.entries("answers.findings"), *tally.entries("streams.findings")]) < 10


def test_no_member_of_an_answer_is_unknown(judged: Judged) -> None:
    unknown = [entry for name in ("answers.drift", "streams.drift") for entry in judged(*RECORDINGS).entries(name)]
    assert {entry["message"] for entry in unknown if entry["message"].startswith("unknown")} <= {FILE_STORE}


FILE_STORE = "unknown member 'file_store_ids'"
"""As the edited ones have it."""


def test_what_was_edited_is_in_the_traffic(judged: Judged) -> None:
    told = [str(entry) for finding in FINDINGS for entry in judged(*RECORDINGS).entries(finding)]
    assert [part for part in EDITED if not any(part in entry for entry in told)] == []


def test_nothing_of_foundry_is_passed_over_that_can_be_judged(judged: Judged) -> None:
    tally = judged(FOUNDRY_RECORDINGS)
    assert count_reasons(tally, "skipped") == {"not judged: /evals": 1}
    assert count_reasons(tally, "requests.unverifiable") == {}
    assert count_reasons(tally, "refusals.unverifiable") == {
        "another client of the project may have deleted it": 1,
        "it depends on the account": 1,
    }
    assert tally.counts["exchanges"] > 180


LEAST_RIGHT = 0.9
"""The least share of what recordings show of a model's defaults that is as the table says."""


def test_what_the_table_of_models_says_of_defaults_is_what_answers_show() -> None:
    met = count_met_facts(list(RECORDINGS))
    wrong = {fact: (right, seen) for fact, (seen, right) in met.items() if right < LEAST_RIGHT * seen and seen}
    assert wrong == {}
    assert met["efforts"][0] > 1000
