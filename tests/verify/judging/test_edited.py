"""An answer that contradicts itself was written or edited by hand: what is wrong with it is unverifiable, and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.verify.judging.edited import MADE_UP
from tests.support.recordings import HI, judge, recorded

MADE = 1_760_000_000
ID = f"resp_{'0' * 18}{MADE:x}{'a' * 24}"
OLD_ID = f"resp_{MADE:x}{'a' * 40}"


def answered(item_id: str = "", recorded_at: str = "2025-10-09T10:00:00Z", **changes: Any) -> dict[str, Any]:
    """Return an exchange whose answer lacks a member that all answers have."""
    (one,) = recorded(HI)
    one["response"] |= {"id": ID, "created_at": MADE, **changes}
    del one["response"]["usage"]["total_tokens"]
    one["response"]["output"][0]["id"] = item_id or one["response"]["output"][0]["id"]
    return {**one, "recorded_at": recorded_at}


@pytest.mark.parametrize(
    ("changes", "made_up"),
    [
        ({}, False),
        ({"id": OLD_ID}, False),
        ({"item_id": "msg_REDACTED_1"}, False),
        ({"created_at": MADE - 3600}, True),
        ({"id": OLD_ID, "created_at": MADE - 3600}, True),
        ({"recorded_at": "2026-03-06T19:22:51+00:00"}, True),
        ({"item_id": "msg_123"}, True),
    ],
    ids=[
        *("without a contradiction", "without one, of an older form", "with a masked id"),
        *("of another time than its id", "of another time than its older id", "of another time than the recording"),
        "with an id that is none of the API",
    ],
)
def test_an_answer_is_made_up_or_a_finding(tmp_path: Path, changes: dict[str, Any], made_up: bool) -> None:
    report = judge(tmp_path, [answered(**changes)])["answers"]
    assert (len(report["findings"]), report["unverifiable_why"]) == ((0, {MADE_UP: 1}) if made_up else (1, {}))


def test_an_answer_that_conforms_is_good_however_it_was_made(tmp_path: Path) -> None:
    one = recorded(HI)[0]
    one["response"]["output"][0]["id"] = "msg_123"
    assert judge(tmp_path, [one])["answers"]["conform"] == 1
