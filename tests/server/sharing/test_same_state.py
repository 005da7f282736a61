"""Whatever a key sees is the same behind every server that shares a store, and byte for byte as from memory."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.support.processes import wait_until
from tests.support.servers.json_client import ask, create, text_of

pytestmark = pytest.mark.slow

WEATHER = {"type": "function", "name": "get_weather", "parameters": {}, "strict": False}
CALL = {"function_call": {"name": "get_weather", "arguments": {"city": "Paris"}}}
FORM = "multipart/form-data; boundary=x"
FILE = (
    b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\nContent-Disposition: form-data; '
    b'name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nParis is the capital.\r\n--x--\r\n'
)


class Conversation:
    """Requests one after another, each to the next of some servers; `said` are the answers."""

    def __init__(self, *ports: int) -> None:
        self.ports = ports
        self.said: list[object] = []

    def ask(self, method, path, body=None, **more):
        more["OpenAI-Beta"] = "assistants=v2"
        answer = ask(self.ports[len(self.said) % len(self.ports)], method, path, body, **more)
        self.said.append(answer)
        try:
            return answer.json
        except ValueError:
            return {}

    def post(self, path, body=None, **more):
        return self.ask("POST", path, {} if body is None else body, **more)

    def get(self, path):
        return self.ask("GET", path)

    def respond(self, input="hi", **more):
        return self.post("/v1/responses", {"model": "gpt-4.1", "input": input, **more})


def everything(talk: Conversation) -> None:
    """A request of every kind, with refusals and strays in between."""
    talk.post("/_harness/script", {"script": ["one", CALL, "sunny", "in the background", "said"], "files": {"b": "B"}})
    first = talk.respond()
    talk.respond(stream=True, tools=[WEATHER], previous_response_id=first["id"])
    talk.post("/v1/responses", {"model": "gpt-4.1"}, key="")
    talk.respond(previous_response_id="resp_unknown")
    call = talk.get("/_harness/calls")[0]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    called = [each["answer"]["id"] for each in talk.get("/_harness/exchanges") if each["status"] == 200][-1]
    talk.respond([output], previous_response_id=called, tools=[WEATHER])
    queued = talk.respond(background=True)
    for _ in range(3):
        talk.get(f"/v1/responses/{queued['id']}")
    held = talk.post("/v1/conversations", {"items": [{"role": "user", "content": "hello"}]})
    talk.respond(conversation=held["id"])
    talk.get(f"/v1/conversations/{held['id']}/items")
    talk.respond("no turn is left")
    file = talk.post("/v1/files", FILE, kind=FORM)
    store = talk.post("/v1/vector_stores", {"file_ids": [file["id"]], "name": "docs"})
    talk.get(f"/v1/vector_stores/{store['id']}")
    talk.post(f"/v1/vector_stores/{store['id']}/search", {"query": "capital"})
    box = talk.post("/v1/containers", {"name": "box", "file_ids": [file["id"]]})
    talk.get(f"/v1/containers/{box['id']}/files")
    talk.post("/_harness/script", {"turns": [[{"message": "From a thread."}]]})
    helper = talk.post("/v1/assistants", {"model": "gpt-4.1"})
    thread = talk.post("/v1/threads", {"messages": [{"role": "user", "content": "hi"}]})
    run = talk.post(f"/v1/threads/{thread['id']}/runs", {"assistant_id": helper["id"]})
    for _ in range(3):
        talk.get(f"/v1/threads/{thread['id']}/runs/{run['id']}")
    talk.get(f"/v1/threads/{thread['id']}/messages")
    talk.post("/_harness/skip", {"seconds": 3600})
    talk.post("/_harness/expect", {"refusals": "call_needs_output"})
    talk.post("/_harness/script", {"organization": {"zdr": True}, "mcp": {"prod": {"deploy": "v2 is live"}}})
    for path in ("report?verbose=true", "unused", "exchanges", "losses", "flow", "said", "calls", "approvals"):
        talk.get(f"/_harness/{path}")
    talk.post("/_harness/world", {"name": "again"})
    talk.respond()
    talk.get("/_harness/report")


def test_answers_are_those_from_memory(start, store):
    ours, other, plain = start(*store), start(*store), start()
    alone, shared = Conversation(plain.port), Conversation(ours.port, other.port)
    everything(alone)
    everything(shared)
    assert len(alone.said) > 40
    for expected, found in zip(alone.said, shared.said, strict=True):
        assert found == expected


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
    numbers = [[each["number"] for each in ask(port, "GET", "/_harness/exchanges").json] for port in ports]
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
