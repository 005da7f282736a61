"""An answer that contradicts itself was written or edited by hand: what is wrong with it is unverifiable, and said so."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.verify.judging.edited import MADE_UP
from tests.support.recordings import HI, judge, recorded

MADE = 1_760_000_000
ID = f"resp_{'0' * 18}{MADE:x}{'a' * 24}"
OLD_ID = f"resp_{MADE:x}{'a' * 40}"


def answered(**changes: Any) -> dict[str, Any]:
    """Return an exchange whose answer lacks a member that all answers have."""
    one = deepcopy(recorded(HI)[0])
    one["response"] |= {"id": ID, "created_at": MADE, **changes}
    del one["response"]["usage"]["total_tokens"]
    return {**one, "recorded_at": "2025-10-09T10:00:00Z"}


def verdict(tmp_path: Path, one: dict[str, Any]) -> tuple[int, dict[str, int]]:
    report = judge(tmp_path, [one])["answers"]
    return len(report["findings"]), report["unverifiable_why"]


@pytest.mark.parametrize("id", [ID, OLD_ID])
def test_an_answer_without_a_contradiction_is_a_finding(tmp_path: Path, id: str) -> None:
    assert verdict(tmp_path, answered(id=id)) == (1, {})


@pytest.mark.parametrize("id", [ID, OLD_ID])
def test_the_id_tells_when_a_response_was_made(tmp_path: Path, id: str) -> None:
    assert verdict(tmp_path, answered(id=id, created_at=MADE - 3600)) == (0, {MADE_UP: 1})


def test_a_response_was_made_when_it_was_recorded(tmp_path: Path) -> None:
    assert verdict(tmp_path, {**answered(), "recorded_at": "2026-03-06T19:22:51+00:00"}) == (0, {MADE_UP: 1})


def test_an_item_has_an_id_of_the_api(tmp_path: Path) -> None:
    one = answered()
    one["response"]["output"][0]["id"] = "msg_123"
    assert verdict(tmp_path, one) == (0, {MADE_UP: 1})


def test_a_masked_id_says_nothing(tmp_path: Path) -> None:
    one = answered()
    one["response"]["output"][0]["id"] = "msg_REDACTED_1"
    assert verdict(tmp_path, one) == (1, {})


def test_an_answer_that_conforms_is_good_however_it_was_made(tmp_path: Path) -> None:
    one = recorded(HI)[0]
    one["response"]["output"][0]["id"] = "msg_123"
    assert judge(tmp_path, [one])["answers"]["conform"] == 1
