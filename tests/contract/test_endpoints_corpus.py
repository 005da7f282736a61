"""Recorded traffic of the other endpoints: what the API took must be taken, what it refused must be refused alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import orjson
import pytest

import harness.mock  # noqa: F401  (registers the operations)
from harness import schema
from harness.body import asked, parse, typed
from harness.contract import check
from harness.exchange import Request
from harness.operation import OPERATIONS, find
from harness.rule import CREATE
from harness.transcript import conversation_id
from harness.world import Conversation, Run, Stored, World
from tests.contract.shared import PRESENT, exchanges
from tests.contract.test_corpus import answer_of, remember

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")

ROOT = re.compile(r".*?(?=/responses|/conversations)")
NAMED = "conv_of_the_recording"
PLACEHOLDERS = ("{conversation_id}", "test_conversation_id")
DOUBLED = {"msg_msg_nonexistent123nonexistent123": "msg_nonexistent123"}
"""An id that the project doubled in the answer it recorded."""


def recorded() -> Iterator[list[tuple[dict[str, Any], Request]]]:
    """The exchanges that an operation of ours answers, one list a file."""
    for _, group in groupby(exchanges(), key=lambda one: one["id"].partition("#")[0]):
        known = [
            (one, request_of(one)) for one in group if one["status"] != 401
        ]  # of a key only the answer is recorded
        if any(request.operation not in ("", CREATE) for _, request in known):
            yield [(one, request) for one, request in known if request.operation]


def request_of(one: dict[str, Any]) -> Request:
    """A recorded request as the mock reads it; without `operation` when it is none of ours."""
    path = ROOT.sub("", one["url_path"] or "", count=1)
    for placeholder in PLACEHOLDERS:
        path = path.replace(placeholder, NAMED)
    operation, params, _ = find(one["method"], path)
    if operation is None:
        return Request(one["method"], path)
    headers = {"authorization": "Bearer sk-corpus", "content-type": "application/json"}
    query: Any = asked((one.get("query") or "").encode())
    said = one.get("request") or {}
    raw = said["_raw"].encode() if "_raw" in said else orjson.dumps(said)
    body, fault = parse(raw) if operation.body else (None, None)
    named = operation.body or operation.query
    values = typed(query, schema.load(operation.query)) if operation.query else query
    return Request(
        one["method"], path, headers, values, body, raw, params, operation.id, None if fault else named, fault
    )


def assume(world: World, request: Request) -> None:
    """What a request that was taken names, is there: files do not always hold how it came to be."""
    if id := request.params.get("response_id"):
        streamed = bool(request.query.get("stream"))
        cancelled = request.operation.endswith("/cancel")
        status = "queued" if cancelled else "completed"
        made = {"id": id, "status": status, "output": [], "background": streamed or cancelled}
        world.responses.setdefault(id, Stored(made, [], [], [] if streamed else None))
        if cancelled:
            world.pending.setdefault(id, Run(made, [], {}, [], []))
    if id := request.params.get("conversation_id") or (request.body and conversation_id(request.body)):
        items = world.conversations.setdefault(id, Conversation({"id": id})).items
        if item_id := request.params.get("item_id"):
            items.append({"id": item_id})


def happen(world: World, one: dict[str, Any], request: Request) -> None:
    """What an exchange changes."""
    if request.operation == CREATE:
        remember(world, one)
        if (answer := answer_of(one)) and answer.get("id") in world.responses and one.get("events"):
            world.record(answer["id"], one["events"])
    elif request.operation == "DELETE /responses/{response_id}":
        del world.responses[request.params["response_id"]]
    elif request.operation == "DELETE /conversations/{conversation_id}":
        del world.conversations[request.params["conversation_id"]]


def judged() -> Iterator[tuple[dict[str, Any], Request, Any]]:
    """Every recorded exchange on the other endpoints, with what our contract says to it."""
    for group in recorded():
        world = World("corpus")
        world.conversations[NAMED] = Conversation({"id": NAMED})
        for one, request in group:
            taken = 200 <= (one["status"] or 0) < 300
            if taken:
                assume(world, request)
            if request.operation != CREATE:
                yield one, request, check(request, world)
            if taken:
                happen(world, one, request)


def test_what_was_taken_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()
    refused = []
    for one, request, refusal in judged():
        if 200 <= (one["status"] or 0) < 300:
            count[request.operation] += 1
            if refusal:
                refused.append(f"{one['id']} [{refusal.rule.id}] {refusal.error.message}")
    with capsys.disabled():
        print(f"\nrecorded 2xx on other endpoints: {count.total()}, refused {len(refused)}")
        for operation in sorted(OPERATIONS.keys() - {CREATE}):
            print(f"  {count[operation]:4} {operation}")
    assert not refused, "\n".join(refused)
    assert count.total() > 280


def test_what_was_refused_is_refused_in_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    same, other = 0, []
    for one, _, refusal in judged():
        error = (one.get("response") or {}).get("error") if isinstance(one.get("response"), dict) else None
        if not error or 200 <= (one["status"] or 0) < 300:
            continue
        for doubled, single in DOUBLED.items():
            error["message"] = error["message"].replace(doubled, single)
        said = refusal and refusal.error.body()["error"]
        if said == error and one["status"] in (None, refusal.error.status):
            same += 1
        else:
            other.append(f"{one['id']}: {said}, not {error}")
    with capsys.disabled():
        print(f"\nrecorded 4xx on other endpoints: same words {same}, other {len(other)}")
    assert not other, "\n".join(other)
    assert same >= 20
