"""Real errors and real acceptances that nobody here wrote: the mock must say what the API said, word for word."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest

from harness.exchange import Answer
from harness.items import function_call, message, reasoning
from harness.mock import Mock
from tests.contract.shared import PRESENT, accepts, rejects

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded evidence is not here")

HERE = ("pairing", "content", "input", "ids", "state", "auth")
HEADERS = {"authorization": "Bearer sk-evidence"}


def post(mock: Mock, body: Any) -> Answer:
    return mock.handle("POST", "/v1/responses", HEADERS, {}, orjson.dumps(body))


def fresh() -> Mock:
    return Mock(fallback=lambda _: [message("ok")])


def differences(answer: Answer, expected: dict[str, Any], match: str) -> list[str]:
    """What the mock said otherwise; how much of the words is known is part of the evidence (`match`)."""
    error = answer.body.get("error") or {}
    found = [] if answer.status == expected["status"] else [f"status {answer.status}"]
    said, wanted = str(error.get("message")), expected["message"]
    if not (said.startswith(wanted) if match == "prefix" else match == "status+param+code" or said == wanted):
        found.append(f"message {said!r}, not {wanted!r}")
    places = () if match == "message-only" else ("type", "param", "code")
    return found + [
        f"{name} {error.get(name)!r}" for name in places if name in expected and error.get(name) != expected[name]
    ]


def with_state(example: dict[str, Any]) -> tuple[Mock, dict[str, Any]]:
    """The server state an example describes in words, built for real."""
    mock, body, request = fresh(), dict(example["request"]), example["request"]
    world = mock.open("sk-evidence")
    call_id = next(
        (word.rstrip(".") for word in example["expected"]["message"].split() if word.startswith("call_")), "call_1"
    )
    world.script(function_call("f", "{}", call_id=call_id))
    if "conversation" in request:
        made = mock.handle("POST", "/v1/conversations", HEADERS, {}, b"{}").body["id"]
        post(mock, {"model": "gpt-5", "input": "hi", "conversation": made})
        return mock, body | {"conversation": made}
    first = post(mock, {"model": "gpt-5", "input": "hi"}).body
    if example["rule"] == "duplicate-item-id":
        id = next(item["id"] for item in request["input"] if "id" in item)
        stored = world.responses[first["id"]]
        stored.transcript[-1]["id"] = id  # the id the evidence shows, on the item that is already in the chain
        world.items[id] = stored.transcript[-1]
    return mock, body | {"previous_response_id": first["id"]}


def example_ids() -> list[Any]:
    return [pytest.param(one, id=one["example_id"]) for one in rejects() if one["area"] in HERE]


@pytest.mark.parametrize("example", example_ids())
def test_a_real_error_is_reproduced(example: dict[str, Any]) -> None:
    mock, body = with_state(example) if example["needs_state"] else (fresh(), example["request"])
    assert differences(post(mock, body), example["expected"], example["match"]) == []


def test_how_many_real_errors_are_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    same: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for example in rejects():
        if example["endpoint"] == "POST /v1/responses" and not example["needs_state"]:
            all_of[example["area"]] += 1
            answer = post(fresh(), example["request"])
            same[example["area"]] += not differences(answer, example["expected"], example["match"])
    with capsys.disabled():
        print(
            "\nreal errors reproduced (without state):", ", ".join(f"{a} {same[a]}/{all_of[a]}" for a in sorted(all_of))
        )
    assert all(same[area] == all_of[area] for area in HERE)


def accepted_body(example: dict[str, Any]) -> tuple[Mock, dict[str, Any]]:
    mock, body = fresh(), dict(example["request"])
    if "conversation" in body and body["conversation"] is not None:
        made = mock.handle("POST", "/v1/conversations", HEADERS, {}, b"{}").body["id"]
        body["conversation"] = made if isinstance(body["conversation"], str) else {"id": made}
    if example["id"] == "round-trip-reasoning-pair":
        mock.open("sk-evidence").script([reasoning("**Thought**"), message("Hi.")], message("ok"))
        output = post(mock, {"model": "gpt-5.6-terra", "input": "hi"}).body["output"]
        body["input"] = [*output, {"role": "user", "content": "hi"}]
    return mock, body


@pytest.mark.parametrize("example", [pytest.param(one, id=one["id"]) for one in accepts()])
def test_what_must_pass_passes(example: dict[str, Any]) -> None:
    mock, body = accepted_body(example)
    answer = post(mock, body)
    assert answer.status == 200, answer.body
