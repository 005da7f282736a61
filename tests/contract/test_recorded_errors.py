"""Refusals that the real API sent to `POST /responses`: the mock must send the same, or it is listed here why not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from harness.contract import check, given
from harness.exchange import Request
from harness.transcript import conversation_id
from harness.world import Conversation, World
from tests.contract.shared import PRESENT
from tests.contract.test_corpus import recorded, remember, request_of

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")

NOT_OURS = {
    "Please try again with a pdf": "2025: text files were refused; the API has taken them since (recorded in 2026)",
    "'input_image', 'output_text', 'refusal'": "2025: `input_audio` was no part type yet",
    "provided: <GPUSTACK_API_KEY>": "the recorder replaced a part of the key",
    "exceeds the context window": "the recording hides the text that was too long",
}
"""Words of refusals that a request of today does not earn, or that cannot be judged from the recording."""


def key_of(printed: str) -> str:
    """A key that the API would print like this."""
    return printed.removeprefix("Incorrect API key provided: ").partition(". You can")[0].replace("*", "x")


def judged(one: dict[str, Any], world: World) -> tuple[str, str | None, str | None, str | None] | None:
    """What the mock says to a recorded request: message, type, param and code."""
    asked, said = request_of(one), one["response"]["error"]["message"]
    if one["status"] == 401:
        headers = {"authorization": f"Bearer {key_of(said)}"}
        asked = Request(*asked[:2], headers, *asked[3:])
    refusal = check(asked, None if one["status"] == 401 else world)
    return refusal and (refusal.error.message, refusal.error.type, refusal.error.param, refusal.error.code)


def test_every_recorded_refusal_is_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()
    other: list[str] = []
    for group in recorded():
        world = World("corpus")
        for one in group:
            if id := conversation_id(given(one["request"])):
                world.conversations.setdefault(id, Conversation({"id": id}))
            if not 400 <= (one["status"] or 0) < 500:
                if one["status"] and not check(request_of(one), world):
                    remember(world, one)
                continue
            error = one["response"]["error"]
            wanted = tuple(error.get(name) for name in ("message", "type", "param", "code"))
            if any(words in error["message"] for words in NOT_OURS):
                count["not ours"] += 1
            elif (found := judged(one, world)) == wanted:
                count["same"] += 1
            else:
                other.append(f"{one['id']}: {found}, not {wanted}")
    with capsys.disabled():
        print(f"\nrecorded 4xx: {dict(count)}, different or missed {len(other)}")
    assert other == []
    assert count["same"] > 250
