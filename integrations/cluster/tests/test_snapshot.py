"""A process that has not carried out all requests of a key goes on from a snapshot of its World, and nobody sees that."""

import json
import pickle
import zlib
from collections import OrderedDict

import pytest
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.snapshot import Snapshot, SnapshotError, decode_snapshot, encode_snapshot
from websockets.sync.client import connect

from harness.core.exchange import ReceivedRequest
from harness.core.limits import Limits
from harness.foundry.access import OWNERS
from harness.foundry.agent_sessions import AGENT_SESSIONS, new_session
from harness.foundry.agent_versions import AGENT_CODE, AGENT_SETTINGS
from harness.foundry.memory_stores import MEMORY_STORES
from harness.items import message
from harness.server.observe.observed import observe
from harness.world.resources import make_resource
from harness.world.scripting.document import parse_document, parse_sent_script
from harness.world.scripting.settings import PROJECT_RESOURCES
from tests.support.in_process import post
from tests.support.servers.every_request import Conversation, everything
from tests.support.servers.json_client import ask, create, text_of
from tests.support.servers.redis_server import say
from tests.support.servers.served import serving

SHORT = "import responses_harness_cluster.redis_log as log; log.MOST_ENTRIES, log.SNAPSHOT_EVERY = {}"
EACH = SHORT.format((2, 1))
"""Every request makes a snapshot, and hardly anything stays in a log."""
KEY = "sk-team"


SAMPLES = {"dataset": {"files": {"a.txt": "Paris"}}, "memory_store": {"memories": ["Likes tea."]}}
"""What resources have besides their names."""


class Interrupted(Conversation):
    """Between its requests the server is asked for another key, of which alone it keeps the World."""

    def ask(self, method, path, body=None, **more):
        found = super().ask(method, path, body, **more)
        create(self.ports[0], key="sk-other")
        return found


@pytest.mark.slow
def test_what_comes_back_from_a_snapshot_answers_as_before(start, store):
    plain = start()
    alone = Conversation(plain.port)
    everything(alone)
    with serving(*store, "--worlds", "1", patch=EACH) as ours:
        dropped = Interrupted(ours.port)
        everything(dropped)
    assert dropped.said == alone.said


@pytest.mark.slow
def test_a_server_that_comes_late_goes_on_from_the_snapshot(store, redis_port):
    short = SHORT.format((40, 15))
    with serving(*store, patch=short) as ours:
        ids = [create(ours.port).json["id"] for _ in range(100)]
        assert int(say(redis_port, "LLEN", f"{store[-1]}:world:{KEY}")) <= 41
        with serving(*store, patch=short) as late, serving() as alone:
            assert create(late.port, previous_response_id=ids[0]).status == 200
            journal = ask(late.port, "GET", "/_harness/exchanges").body
            assert journal == ask(ours.port, "GET", "/_harness/exchanges").body
            for _ in range(100):
                create(alone.port)
            create(alone.port, previous_response_id=ids[0])
            assert create(late.port).json["id"] == create(alone.port).json["id"]


@pytest.mark.slow
def test_a_world_that_begins_anew_has_no_snapshot_of_the_one_before(store, redis_port):
    with serving(*store, patch=EACH) as ours:
        first = create(ours.port).json["id"]
        assert say(redis_port, "EXISTS", f"{store[-1]}:snapshot:{KEY}") == "1\n"
        assert ask(ours.port, "POST", "/_harness/world", {"name": "again"}).status == 200
        with serving(*store, patch=EACH) as late:
            assert create(late.port, previous_response_id=first).status == 400


@pytest.mark.slow
def test_bytes_that_are_no_snapshot_are_passed_over(store, redis_port):
    with serving(*store, patch=SHORT.format((100, 3))) as ours:
        first, *_ = [create(ours.port).json["id"] for _ in range(4)]
        name = f"{store[-1]}:snapshot:{KEY}"
        head = say(redis_port, "GETRANGE", name, "0", "17")
        say(redis_port, "SET", name, f"{head}3\nrubbish")
        with serving(*store) as late:
            assert create(late.port, previous_response_id=first).status == 200


@pytest.mark.slow
def test_a_websocket_goes_on_in_all_servers(store):
    asked = json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"})
    with serving(*store, patch=EACH) as ours:
        ask(ours.port, "POST", "/_harness/script", {"script": ["one", "two", "three"]})
        address = f"ws://127.0.0.1:{ours.port}/v1/responses"
        with connect(address, additional_headers={"Authorization": f"Bearer {KEY}"}) as wire:
            assert _last_text(wire, asked) == "one"
            with serving(*store, patch=EACH) as late:
                assert len(ask(late.port, "GET", "/_harness/exchanges").json) == 1
                assert _last_text(wire, asked) == "two"
                assert text_of(create(late.port)) == "three"
                journals = [ask(server.port, "GET", "/_harness/exchanges").body for server in (ours, late)]
                assert journals[0] == journals[1]


def test_a_connection_that_is_observed_comes_back(api):
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    told = []
    observe(api, [told.append])
    session = api.open_session(ReceivedRequest("GET", "/v1/responses", headers))
    assert session.receive('{"type": "response.create", "model": "gpt-4.1", "input": "hi"}')
    snapshot = Snapshot(api.worlds[KEY], OrderedDict(one=session))
    made = decode_snapshot(encode_snapshot(snapshot, api.own_objects), api.own_objects)
    events = made.sessions["one"].receive('{"type": "response.create", "model": "gpt-4.1", "input": "and?"}')
    assert events[-1]["type"] == "response.completed"
    assert made.world is not None
    assert (made.world.exchange_count, [entry.operation for entry in told]) == (2, ["WS /responses"] * 2)


def _last_text(wire, asked):
    wire.send(asked)
    while (event := json.loads(wire.recv(10)))["type"] != "response.completed":
        pass
    return event["response"]["output"][0]["content"][0]["text"]


@pytest.fixture
def api():
    return ReplicatedApi(fallback=lambda request: [message("Hi.")], limits=Limits(1000, 1000))


def answered(api, body, path="/v1/responses"):
    return post(api, body, path, KEY).body


def carried(api, world):
    """Return another World, made of the bytes of a snapshot of this one."""
    made = decode_snapshot(encode_snapshot(Snapshot(world, OrderedDict()), api.own_objects), api.own_objects).world
    assert made is not None
    assert made is not world
    return made


def test_a_world_that_is_made_of_bytes_shares_what_the_process_has(api):
    first = answered(api, {"model": "gpt-4.1", "input": "hi"})["id"]
    world = api.worlds[KEY]
    made = carried(api, world)
    assert made.models == world.models
    assert made.account is world.account
    assert made.script.fallback is world.script.fallback
    assert made.uploads.add_file("a.txt", "a", "user_data", None) == world.uploads.add_file(
        "a.txt", "a", "user_data", None
    )
    continued = {"model": "gpt-4.1", "input": "and?", "previous_response_id": first}
    expected = answered(api, continued)
    api.put_world(made)
    assert answered(api, continued) == expected


@pytest.mark.slow
def test_a_long_chain_and_a_long_conversation_come_back(api):
    held = answered(api, {}, "/v1/conversations")["id"]
    last = answered(api, {"model": "gpt-4.1", "input": "hi"})["id"]
    for _ in range(1500):
        last = answered(api, {"model": "gpt-4.1", "input": "on", "previous_response_id": last})["id"]
        answered(api, {"model": "gpt-4.1", "input": "on", "conversation": held})
    world = api.worlds[KEY]
    made = carried(api, world)
    assert made.store.conversations[held].items == world.store.conversations[held].items
    assert list(made.store.responses[last].chain) == list(world.store.responses[last].chain)


def test_the_resources_of_a_project_come_back(api):
    mock = api.open(KEY)
    for kind in PROJECT_RESOURCES.values():
        make_resource(mock.world, kind, "mine", SAMPLES.get(kind, {}))
    mock.world.store.table(MEMORY_STORES)["mine"].queue("update_1", {"scope": "s", "items": "I like cats."})
    made = carried(api, mock.world)
    assert made.store == mock.world.store


def test_the_agents_of_a_project_come_back(api):
    mock = api.open(KEY)
    mock.agent("helper", kind="hosted", cpu="1")
    mock.world.store.table(AGENT_CODE)["helper:1"] = b"zip"
    mock.world.store.table(AGENT_SETTINGS)["helper"] = {"state": "disabled"}
    mock.world.store.table(AGENT_SESSIONS)["helper/s"] = new_session("s", "1", 0, "alice")
    mock.world.store.table(OWNERS)["resp_1"] = "alice"
    made = carried(api, mock.world)
    assert made.store == mock.world.store


def test_a_script_that_runs_is_no_snapshot(api):
    def script(request):
        yield "one"
        yield "two"

    api.open(KEY).script(script)
    answered(api, {"model": "gpt-4.1", "input": "hi"})
    with pytest.raises(SnapshotError, match="generator"):
        encode_snapshot(Snapshot(api.worlds[KEY], OrderedDict()), api.own_objects)


def test_a_script_that_repeats_itself_goes_on_where_it_was(api):
    parse_document({"script": ["one", "two", "three"], "repeat": True}).apply(api.open(KEY))
    body = {"model": "gpt-4.1", "input": "hi"}
    said = [answered(api, body)["output"][0]["content"][0]["text"] for _ in range(4)]
    api.worlds[KEY] = carried(api, api.worlds[KEY])
    said += [answered(api, body)["output"][0]["content"][0]["text"] for _ in range(3)]
    assert said == ["one", "two", "three", "one", "two", "three", "one"]


def test_one_that_is_too_large_is_neither_made_nor_read(api, monkeypatch):
    answered(api, {"model": "gpt-4.1", "input": "hi" * 1000})
    snapshot = Snapshot(api.worlds[KEY], OrderedDict())
    made = encode_snapshot(snapshot, api.own_objects)
    monkeypatch.setattr("responses_harness_cluster.snapshot.MOST_BYTES", 1000)
    with pytest.raises(SnapshotError, match="more than 1,000 bytes"):
        encode_snapshot(snapshot, api.own_objects)
    with pytest.raises(SnapshotError, match="more than 1,000 bytes"):
        decode_snapshot(made, api.own_objects)


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("bytes_", "says"),
    [
        (b"", "it is cut"),
        (zlib.compress(b"rubbish")[:-3], "it is cut"),
        (zlib.compress(b"rubbish"), "Error"),
        (zlib.compress(pickle.dumps(Call(eval, "1"))), "builtins.eval is not a part of a World"),
        (zlib.compress(pickle.dumps(Call(print, "hi"))), "builtins.print is not a part of a World"),
        (zlib.compress(pickle.dumps(((), Limits(1, 2), OrderedDict()))), "it holds something else"),
        (
            zlib.compress(pickle.dumps(encode_snapshot)),
            "responses_harness_cluster.snapshot.encode_snapshot is not a class",
        ),
    ],
)
def test_bytes_that_are_none(api, bytes_, says):
    with pytest.raises(SnapshotError, match=says):
        decode_snapshot(bytes_, api.own_objects)


def test_the_journal_of_a_snapshot_has_its_routes_but_no_functions() -> None:
    api, headers = ReplicatedApi(), {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    route = {"route": {"POST /embeddings": {"json": {"data": []}}}}
    parse_sent_script(route).apply(api.open(KEY))
    sent = ReceivedRequest("POST", "/v1/embeddings", headers, raw=b'{"input":"x"}')
    api.handle(sent)
    world = decode_snapshot(encode_snapshot(Snapshot(api.worlds[KEY], OrderedDict()), {}), {}).world
    assert world is not None
    api.worlds[KEY] = world
    assert api.handle(sent).body == {"data": []}
