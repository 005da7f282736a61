"""Real errors and real acceptances that nobody here wrote: the mock must say what the API said, word for word.

Most of the errors are in the cassettes, with what was stored before them: `test_rule_cassettes.py` replays these.
"""

from typing import Any

import pytest

from harness.core.exchange import Answer
from harness.items import message, reasoning
from harness.server.mock_api import MockApi
from harness.verify.examples import OK_TURN
from tests.support.in_process import post
from tests.support.shared import PRESENT, accepts, rejects
from tools.rule_evidence.cassettes import load_rule_cassettes

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded evidence is not here")

KEY = "sk-evidence"
TRANSCRIBED = {
    interaction.answer["error"].get("message")
    for cassette in load_rule_cassettes().values()
    for interaction in cassette.interactions
    if interaction.is_refusal
}
"""The words of the errors in cassettes."""
DIFFERENT = {"moved-parameter-messages-b5f95e9994": "recorded traffic has no param here (crmne/ruby_llm, 2025-08-06)"}
"""What the mock says otherwise, and why."""


def fresh() -> MockApi:
    return MockApi(fallback=lambda _: OK_TURN)


def differences(answer: Answer, expected: dict[str, Any], match: str) -> list[str]:
    """List what the mock said otherwise; how much of the words is known is part of the evidence (`match`)."""
    error = answer.body.get("error") or {}
    found = [] if answer.status == expected["status"] else [f"status {answer.status}"]
    actual, published = str(error.get("message")), expected["message"]
    if not (actual.startswith(published) if match == "prefix" else match == "status+param+code" or actual == published):
        found.append(f"message {actual!r}, not {published!r}")
    return found + [
        f"{name} {error.get(name)!r}"
        for name in ("type", "param", "code")
        if name in expected and error.get(name) != expected[name]
    ]


def told_nowhere_else() -> list[Any]:
    return [
        pytest.param(example, id=example["example_id"])
        for example in rejects()
        if example["endpoint"] == "POST /v1/responses"
        and not example["needs_state"]
        and example["expected"]["message"] not in TRANSCRIBED
    ]


@pytest.mark.parametrize("example", told_nowhere_else())
def test_a_real_error_is_reproduced(example: dict[str, Any]) -> None:
    found = differences(post(fresh(), example["request"], key=KEY), example["expected"], example["match"])
    assert bool(found) is (example["example_id"] in DIFFERENT), found


def test_nearly_all_real_errors_are_in_cassettes() -> None:
    assert len(rejects()) > 200
    assert len(told_nowhere_else()) < 15


@pytest.mark.parametrize("example", [pytest.param(accept, id=accept["id"]) for accept in accepts()])
def test_what_must_pass_passes(example: dict[str, Any]) -> None:
    mock, body = fresh(), dict(example["request"])
    if body.get("conversation") is not None:
        id = post(mock, {}, "/v1/conversations", key=KEY).body["id"]
        body["conversation"] = id if isinstance(body["conversation"], str) else {"id": id}
    if example["id"] == "round-trip-reasoning-pair":
        mock.open(KEY).script([reasoning("**Thought**"), message("Hi.")], message("ok"))
        output = post(mock, {"model": "gpt-5.6-terra", "input": "hi"}, key=KEY).body["output"]
        body["input"] = [*output, {"role": "user", "content": "hi"}]
    answer = post(mock, body, key=KEY)
    assert answer.status == 200, answer.body
