"""A mock that has stored something, requests to it, and those that continue what it has stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.cases import MINIMAL
from harness.exchange import NOTHING, Answer, Json
from harness.items import function_call, message, reasoning
from harness.mock import Mock
from harness.operation import OPERATIONS

KEY = "sk-mutations"
AUTH = {"authorization": f"Bearer {KEY}"}


def post(mock: Mock, body: Any) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return mock.handle("POST", "/v1/responses", AUTH, {}, raw)


def fresh() -> Mock:
    return Mock(fallback=lambda _: [message("ok")])


def remembering() -> Mock:
    """A mock whose key has stored a conversation, a response that thought and called, and a prompt."""
    mock = fresh()
    world = mock.open(KEY)
    world.organization(prompts=["pmpt_1"])
    world.script([reasoning("**Plan**"), function_call("f", "{}", call_id="c1")], message("ok"))
    mock.handle(
        "POST", "/v1/conversations", AUTH, {}, json.dumps({"items": [{"role": "user", "content": "hi"}]}).encode()
    )
    post(mock, MINIMAL)
    return mock


def continuing() -> Iterator[Json]:
    """Requests that only a mock that remembers takes."""
    world = remembering().worlds[KEY]
    ((id, stored),) = world.responses.items()
    thought, call = stored.response["output"]
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    yield {**MINIMAL, "previous_response_id": id, "input": [output]}
    yield {**MINIMAL, "input": [thought, call, output]}
    yield {**MINIMAL, "input": [{"type": "item_reference", "id": one["id"]} for one in (thought, call)] + [output]}
    yield {**MINIMAL, "conversation": next(iter(world.conversations))}
    yield {**MINIMAL, "conversation": {"id": next(iter(world.conversations))}}
    yield {
        "prompt": {"id": "pmpt_1", "version": "1", "variables": {"a": "b", "c": {"type": "input_text", "text": "d"}}}
    }


def send(mock: Mock, id: str, *, body: Any = MINIMAL, query: Mapping[str, Any] = NOTHING, named: str = "") -> Answer:
    """A request of an operation about what a remembering mock has stored, or about ids that are `named`."""
    world = mock.worlds[KEY]
    ((response, _),), ((conversation, stored),) = world.responses.items(), world.conversations.items()
    item = stored.items[0]["id"]
    ids = {"response_id": response, "conversation_id": conversation, "item_id": item, "model": "gpt-4.1"}
    method, _, path = id.partition(" ")
    path = path.format_map(dict.fromkeys(ids, named) if named else ids)
    raw = json.dumps(body).encode() if OPERATIONS[id].body else b""
    return mock.handle(method, f"/v1{path}", AUTH, query, raw)
