"""Whatever a key sees is the same behind every server that shares a store, and byte for byte as from memory."""

import json
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.support.processes import wait_until
from tests.support.servers.every_request import Conversation, everything
from tests.support.servers.json_client import ask, create, text_of

pytestmark = pytest.mark.slow


def test_answers_are_those_from_memory(start, store):
    ours, other, plain = start(*store), start(*store), start()
    alone, shared = Conversation(plain.port), Conversation(ours.port, other.port)
    everything(alone)
    everything(shared)
    assert shared.said == alone.said


def test_a_server_that_comes_late_knows_it_all(start, store):
    ours = start(*store)
    first = Conversation(ours.port)
    everything(first)
    late = start(*store)
    assert ask(late.port, "GET", "/_harness/exchanges").body == ask(ours.port, "GET", "/_harness/exchanges").body


def test_a_turn_is_taken_once(start, store):
    ports = [start(*store).port, start(*store).port]
    turns = [f"turn {number}" for number in range(200)]
    ask(ports[0], "POST", "/_harness/script", {"script": turns})
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda number: create(ports[number % 2]), range(200)))
    assert sorted(map(text_of, answers)) == sorted(turns)
    assert max(Counter(answer.json["id"] for answer in answers).values()) == 1
    numbers = [[exchange["number"] for exchange in ask(port, "GET", "/_harness/exchanges").json] for port in ports]
    assert numbers == [list(range(1, 201))] * 2


def test_a_gate_is_opened_on_another_server(start, store):
    ours, other = start(*store), start(*store)
    ask(ours.port, "POST", "/_harness/script", {"script": [[{"message": "later"}, {"pause": {"until": "shown"}}]]})
    with ThreadPoolExecutor(1) as client:
        waiting = client.submit(create, ours.port)
        assert wait_until(lambda: len(ask(other.port, "GET", "/_harness/exchanges").json) == 1)
        time.sleep(0.3)
        assert not waiting.done()
        ask(other.port, "POST", "/_harness/open", {"gate": "shown"})
        assert text_of(waiting.result(10)) == "later"


def test_a_websocket_and_http_share_a_world(start, store):
    ours, other = start(*store), start(*store)
    ask(other.port, "POST", "/_harness/script", {"script": ["one", "two", "three"]})
    asked = json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"})
    with connect(
        f"ws://127.0.0.1:{ours.port}/v1/responses", additional_headers={"Authorization": "Bearer sk-team"}
    ) as wire:
        texts = []
        for _ in range(2):
            wire.send(asked)
            while (event := json.loads(wire.recv(10)))["type"] != "response.completed":
                pass
            texts.append(event["response"]["output"][0]["content"][0]["text"])
            last = event["response"]["id"]
    assert texts == ["one", "two"]
    assert text_of(create(other.port, previous_response_id=last)) == "three"


def test_a_script_file_and_limits_hold_on_every_server(start, store, tmp_path: Path):
    (script := tmp_path / "a.yaml").write_text("script: [one, two]\n")
    options = (*store, "--script", str(script), "--keep", "1", "--journal", "2")
    ours, other = start(*options), start(*options)
    first = create(ours.port)
    assert text_of(create(other.port)) == "two"
    assert create(ours.port, previous_response_id=first.json["id"]).status == 400
    assert ask(other.port, "GET", "/_harness/exchanges").body == ask(ours.port, "GET", "/_harness/exchanges").body


def test_a_world_that_was_dropped_here_comes_back(start, store):
    ours = start(*store, "--worlds", "2")
    first = create(ours.port, key="sk-1")
    for number in range(2, 6):
        create(ours.port, key=f"sk-{number}")
    assert create(ours.port, key="sk-1", previous_response_id=first.json["id"]).status == 200


def test_prefixes_share_nothing(start, store):
    ours, other = start(*store), start(*store[:-1], f"{store[-1]}-other")
    first = create(ours.port)
    assert create(other.port, previous_response_id=first.json["id"]).status == 400


def test_a_world_that_is_not_begun_anew_stays_on_every_server(start, store):
    ours, other = start(*store), start(*store)
    first = create(ours.port).json["id"]
    assert ask(other.port, "POST", "/_harness/world", {"nam": "typo"}).status == 400
    for server in (ours, other, start(*store)):
        assert create(server.port, previous_response_id=first).status == 200
    assert ask(other.port, "POST", "/_harness/world", {"name": "again"}).status == 200
    for server in (ours, other, start(*store)):
        assert create(server.port, previous_response_id=first).status == 400


def test_a_request_is_logged_and_counted_by_the_server_that_answers(start, store):
    ours, other = start(*store, "--metrics", "--log", "json"), start(*store, "--metrics")
    for server in (ours, ours, other):
        assert create(server.port).status == 200
    for server, number in ((ours, 2), (other, 1)):
        said = ask(server.port, "GET", "/_harness/metrics").body.decode()
        assert f'harness_requests_total{{dialect="openai",operation="POST /responses",status="200"}} {number}.0' in said
    assert ask(ours.port, "GET", "/_harness/health").json["store"] == "redis"
    assert ask(ours.port, "GET", "/_harness/exchanges").status == 200
    _, _, said = ours.end(signal.SIGTERM)
    assert said.count('"operation":"POST /responses"') == 2
