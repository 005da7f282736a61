"""Kinds of items whose schema lets unknown members pass: whatever these hold, everything that reads items takes it."""

from typing import Any

import pytest

from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.contract.evidence.samples.requests import REQUESTS
from tests.fuzz.runs import READERS
from tests.support import in_process
from tests.support.in_process import KEY
from tests.support.slow import slow_except

MEMBERS = (
    *("encrypted_content", "id", "call_id", "phase", "status", "content", "summary", "output", "name", "arguments"),
    *("action", "agent", "tools", "results", "annotations"),
)
ODD: tuple[Any, ...] = ({}, [], 1, "", ["x"], [[]], [{"type": {}}], {"a": None})


def send(api: MockApi, call: str, body: Any = None) -> Any:
    answer = in_process.send(api, call, body)
    assert answer.status < 500, answer.body
    assert answer.status != 418, answer.body["error"]["message"]
    return answer


def create(item: Any) -> Any:
    return send(MockApi(fallback=small_talk), "POST /v1/responses", {"model": "gpt-5", "input": [item]})


ITEMS = {
    item["type"]: item
    for body in REQUESTS
    for item in body.get("input", ())
    if isinstance(item, dict) and "type" in item
}
OPEN = {kind: item for kind, item in ITEMS.items() if create({**item, "unknown": 1}).status == 200}


def test_some_kinds_are_open():
    assert "multi_agent_call" in OPEN


@pytest.mark.parametrize("kind", slow_except([0], OPEN))
def test_odd_members_are_read_everywhere(kind):
    for item in ({**OPEN[kind], name: value} for name in MEMBERS for value in ODD):
        api = MockApi(fallback=small_talk)
        made = send(api, "POST /v1/responses", {"model": "gpt-5", "input": [item]})
        if made.status == 200:
            id = made.body["id"]
            send(api, "POST /v1/responses", {"model": "gpt-5", "input": "hi", "previous_response_id": id})
            assert send(api, f"GET /v1/responses/{id}/input_items").status == 200
            send(api, "POST /v1/conversations", {"items": [item]})
        for read in READERS.values():
            read(api.open(KEY).world)
