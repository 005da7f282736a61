"""Recorded answers repeat their requests: ours to the same request must repeat them alike, member by member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from harness.answers.response import build_initial_response, finish_response
from harness.contract.check import drop_nulls
from harness.items.history import conversation_id
from tests.support.shared import READS_RECORDINGS, exchanges

pytestmark = READS_RECORDINGS

SINCE = {"tool_usage": "2026-06-25", "reasoning": "2026-07-03", "tools": "2026-07-13", "access_programs": "2026-09-04"}
"""The first day on which a member was as it is now; all others have been so since before FIRST."""
FIRST = "2026-06-01"

OWN = {
    "id",
    "object",
    "created_at",
    "completed_at",
    "status",
    "output",
    "usage",
    "error",
    "incomplete_details",
    "billing",
}
"""What an answer says of itself."""

BY_MODEL = {
    "moderation": "what the moderation found",
    "tool_usage": "what hosted tools used",
}
"""What an answer says of the model's work."""

BY_ACCOUNT = {
    "access_programs": "null or the programs of the account, without being asked for: one each within three weeks",
    "store": "false in every answer to an organization that stores nothing",
}

Pair = tuple[dict[str, Any], dict[str, Any]]


def answer_of(one: dict[str, Any]) -> dict[str, Any]:
    """Return the response object of a recorded exchange, of a stream the last one; empty where there is none."""
    objects = [event["data"] for event in one.get("events") or () if isinstance(event.get("data"), dict)]
    held = [one.get("response"), *(data.get("response") for data in reversed(objects))]
    return next((response for response in held if isinstance(response, dict) and "created_at" in response), {})


def recorded() -> Iterator[Pair]:
    """Requests that OpenAI took since FIRST, each with its finished answer."""
    for one in exchanges():
        body, path = one.get("request"), (one["url_path"] or "").rstrip("/")
        if one["provider"] == "openai" and one["method"] == "POST" and path.endswith("/responses"):
            answer = answer_of(one)
            if isinstance(body, dict) and answer.get("status") == "completed" and day(answer) >= FIRST:
                yield drop_nulls(body), answer


def day(answer: dict[str, Any]) -> str:
    return datetime.fromtimestamp(answer["created_at"], UTC).date().isoformat()


def ours(body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    started = build_initial_response(body, answer["id"], answer["created_at"], conversation=conversation_id(body))
    return finish_response(started, answer["output"], answer["usage"], answer["created_at"])


def test_every_member_is_repeated_as_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    compared: Counter[str] = Counter()
    same: Counter[str] = Counter()
    different: dict[str, str] = {}
    for body, answer in recorded():
        made = ours(body, answer)
        for name in (made.keys() | answer.keys()) - OWN:
            if day(answer) >= SINCE.get(name, FIRST):
                compared[name] += 1
                same[name] += (alike := made.get(name, "absent") == answer.get(name, "absent"))
                if not alike:
                    different[name] = f"{name} of {day(answer)}\n  {made.get(name)}\n  {answer.get(name)}"
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} {same[name]}/{compared[name]}" for name in sorted(compared)))
    assert sum(compared.values()) > 10_000
    missed = [name for name in compared if same[name] < compared[name] and name not in (BY_ACCOUNT | BY_MODEL)]
    assert not missed, "\n".join(different[name] for name in missed)
