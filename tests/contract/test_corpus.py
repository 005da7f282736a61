"""Requests that the real API took, in the order they were sent: the mock must take every one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

from harness.contract import check, given
from harness.exchange import Request
from harness.response import listed_input
from harness.transcript import conversation_id
from harness.world import Conversation, World
from tests.contract.shared import PRESENT, exchanges

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")

NEVER_SEEN = (
    "previous_response_not_found",
    "conversation_not_found",
    "item_not_found",
    "prompt_not_found",
    "output_needs_call",
)
"""Refusals that only say that the file does not hold what came before."""


HAND_MADE = "instrumentation-openai/test/mock-responses/"
"""Not recorded: ids such as fc_12345xyz, tools echoed without the members every real answer has."""


def recorded() -> Iterator[list[dict[str, Any]]]:
    """The exchanges with OpenAI and Azure on `POST /responses`, one list a file."""
    for _, group in groupby(exchanges(), key=lambda one: one["id"].partition("#")[0]):
        yield [
            one
            for one in group
            if (one["url_path"] or "").rstrip("/").endswith("/responses")
            and one["method"] == "POST"
            and isinstance(one.get("request"), dict)
            and one["provider"] != "foundry"
            and not one.get("no_request")
            and HAND_MADE not in one["id"]
        ]


def request_of(one: dict[str, Any]) -> Request:
    headers = {"authorization": "Bearer sk-corpus", "content-type": "application/json"}
    return Request(
        "POST", "/responses", headers, {}, one["request"], operation="POST /responses", schema="CreateResponse"
    )


def answer_of(one: dict[str, Any]) -> dict[str, Any] | None:
    """The response object of a recorded answer, from the last event of a stream."""
    if isinstance(one.get("response"), dict):
        return one["response"]
    last = [event["data"].get("response") for event in one.get("events") or () if isinstance(event.get("data"), dict)]
    return next((response for response in reversed(last) if response), None)


def remember(world: World, one: dict[str, Any]) -> None:
    answer = answer_of(one)
    body = given(one["request"])
    if answer and isinstance(answer.get("output"), list) and answer.get("id") and body.get("store") is not False:
        world.store(answer, listed_input(body), world.transcript(body).items)


def test_no_recorded_request_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()
    refused: list[str] = []
    for group in recorded():
        world = World("corpus")
        for one in group:
            if not 200 <= (one["status"] or 0) < 300:
                continue
            body = given(one["request"])
            if id := conversation_id(body):
                world.conversations.setdefault(id, Conversation({"id": id}))
            if prompt := body.get("prompt"):
                world.organization(prompts=[prompt["id"]])
            refusal = check(request_of(one), world)
            if refusal and refusal.rule.id in NEVER_SEEN:
                count["unverifiable"] += 1
            elif refusal:
                refused.append(f"{one['id']} [{refusal.rule.id}] {refusal.error.message}")
            else:
                count["accepted"] += 1
                remember(world, one)
    with capsys.disabled():
        print(f"\nrecorded 2xx requests: {dict(count)}, refused {len(refused)}")
    assert not refused, "\n".join(refused)
    assert count["accepted"] > 3900
