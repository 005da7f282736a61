"""Real errors and real acceptances that nobody here wrote: the mock must say what the API said, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.models import MODELS
from harness.core.exchange import Answer, ReceivedRequest
from harness.items import function_call, message, reasoning
from harness.items.history import EMPTY_CHAIN
from harness.server.mock_api import MockApi
from harness.verify.examples import OK_TURN
from harness.world.mock import Mock
from tests.support.shared import PRESENT, accepts, rejects

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded evidence is not here")

HEADERS = {"authorization": "Bearer sk-evidence"}
HTTP = ("POST /v1/responses", "POST /v1/responses/{id}/cancel", "GET /v1/responses/{id}")
DIFFERENT = {
    "moved-parameter-messages-b5f95e9994": "recorded traffic has no param here (crmne/ruby_llm, 2025-08-06)",
    "model-not-found-cd27f4245f": "some accounts have this model, and their requests must pass",
}
"""What the mock says otherwise, and why."""


def post(mock: MockApi, body: Any) -> Answer:
    return mock.handle(ReceivedRequest("POST", "/v1/responses", HEADERS, raw=orjson.dumps(body)))


def fresh() -> MockApi:
    return MockApi(fallback=lambda _: OK_TURN)


def differences(answer: Answer, expected: dict[str, Any], match: str) -> list[str]:
    """Return what the mock said otherwise; how much of the words is known is part of the evidence (`match`)."""
    error = answer.body.get("error") or {}
    found = [] if answer.status == expected["status"] else [f"status {answer.status}"]
    actual, published = str(error.get("message")), expected["message"]
    if not (actual.startswith(published) if match == "prefix" else match == "status+param+code" or actual == published):
        found.append(f"message {actual!r}, not {published!r}")
    places = () if match == "message-only" else ("type", "param", "code")
    return found + [
        f"{name} {error.get(name)!r}" for name in places if name in expected and error.get(name) != expected[name]
    ]


def stored(mock: Mock, *output: dict[str, Any]) -> None:
    """A response of an earlier day, with the very ids that the evidence shows."""
    mock.world.store.put_response({"id": "resp_before", "output": list(output)}, (), EMPTY_CHAIN)


def open_call(mock: MockApi, example: dict[str, Any]) -> Answer:
    """Return a call in the chain, or in the conversation, that nobody has answered."""
    body, words = dict(example["request"]), example["expected"]["message"].split()
    call_id = next((word.rstrip(".") for word in words if word.startswith("call_")), "call_1")
    mock.open("sk-evidence").script(function_call("f", "{}", call_id=call_id, off_schema=True))
    if "conversation" in body:
        body["conversation"] = mock.handle(ReceivedRequest("POST", "/v1/conversations", HEADERS, raw=b"{}")).body["id"]
        post(mock, {"model": "gpt-5", "input": "hi", "conversation": body["conversation"]})
        return post(mock, body)
    return post(mock, body | {"previous_response_id": post(mock, {"model": "gpt-5", "input": "hi"}).body["id"]})


def same_item(mock: MockApi, example: dict[str, Any]) -> Answer:
    """Return the item that the request sends is already in the chain."""
    request = example["request"]
    stored(
        mock.open("sk-evidence"),
        next(item for item in request["input"] if "id" in item) | {"type": "function_call", "call_id": "c"},
    )
    return post(mock, request | {"previous_response_id": "resp_before"})


def lonely_thought(mock: MockApi, example: dict[str, Any]) -> Answer:
    """The reasoning item was followed by something when it was made."""
    thought = next(item for item in example["request"]["input"] if item.get("type") == "reasoning")
    stored(mock.open("sk-evidence"), thought, {"type": "message", "id": "msg_after"})
    return post(mock, example["request"])


def lonely_item(mock: MockApi, example: dict[str, Any]) -> Answer:
    """Return the item followed a reasoning item when it was made."""
    item = next(item for item in example["request"]["input"] if "id" in item)
    named = re.findall(r"'(rs_\w+)'", example["expected"]["message"]) or ["rs_1"]
    kind = item["type"].replace("item_reference", "web_search_call")
    stored(mock.open("sk-evidence"), {"type": "reasoning", "id": named[0], "summary": []}, item | {"type": kind})
    return post(mock, example["request"])


def foreign_ciphertext(mock: MockApi, example: dict[str, Any]) -> Answer:
    """The ciphertext was made for this item, by another organization."""
    thought, *rest = example["request"]["input"]
    ciphertext = make_encrypted_content(ContentOwner("org-other", thought["id"]), 0)
    return post(mock, example["request"] | {"input": [thought | {"encrypted_content": ciphertext}, *rest]})


def ended_response(mock: MockApi, example: dict[str, Any]) -> Answer:
    """Return a response that has ended, in the background where the example says so."""
    background = "background response" in example["request"]["__path__"]
    id = post(mock, {"model": "gpt-5", "input": "hi", "background": background}).body["id"]
    mock.open("sk-evidence").automatic = False
    for _ in range(2 * background):
        mock.open("sk-evidence").advance(id)
    method, path = example["endpoint"].split()
    query = {"stream": "true"} if method == "GET" else {}
    return mock.handle(ReceivedRequest(method, path.replace("{id}", id), HEADERS, query))


STATES: dict[str, Callable[[MockApi, dict[str, Any]], Answer]] = {
    "call-needs-output-function": open_call,
    "function-output-type": open_call,
    "duplicate-item-id": same_item,
    "reasoning-needs-following": lonely_thought,
    "item-needs-reasoning-function-call": lonely_item,
    "item-needs-reasoning-message": lonely_item,
    "item-needs-reasoning-web-search": lonely_item,
    "encrypted-content-invalid": foreign_ciphertext,
    "cancel-synchronous": ended_response,
    "cancel-completed": ended_response,
    "retrieve-stream-not-background": ended_response,
}
"""The server state an example describes in words, built for real, by its rule."""


BEFORE_THE_END = "2026-07-22"
"""The last day of models that were asked then and are gone."""


def answer_to(example: dict[str, Any]) -> Answer:
    mock = fresh()
    if any(f'"{name}"' in json.dumps(example["request"]) for name, family in MODELS.items() if family.gone):
        mock.open("sk-evidence").world.as_of = BEFORE_THE_END
    return STATES[example["rule"]](mock, example) if example["needs_state"] else post(mock, example["request"])


def examples() -> list[Any]:
    return [pytest.param(one, id=one["example_id"]) for one in rejects() if one["endpoint"] in HTTP]


@pytest.mark.parametrize("example", examples())
def test_a_real_error_is_reproduced(example: dict[str, Any]) -> None:
    found = differences(answer_to(example), example["expected"], example["match"])
    assert bool(found) is (example["example_id"] in DIFFERENT), found


def test_a_model_that_only_some_accounts_have_is_refused_where_the_account_says_so() -> None:
    mock, example = fresh(), next(one for one in rejects() if one["example_id"] == "model-not-found-cd27f4245f")
    mock.open("sk-evidence").organization(models={"gpt-4.1"})
    assert differences(post(mock, example["request"]), example["expected"], example["match"]) == []


def accepted_body(example: dict[str, Any]) -> tuple[MockApi, dict[str, Any]]:
    mock, body = fresh(), dict(example["request"])
    if "conversation" in body and body["conversation"] is not None:
        made = mock.handle(ReceivedRequest("POST", "/v1/conversations", HEADERS, raw=b"{}")).body["id"]
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
