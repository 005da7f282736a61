"""A store that has lost what a key did: no SDK asks again what has failed, and the verdict says that nothing was judged."""

import json
import signal

import openai
import pytest
from websockets.sync.client import connect

from tests.support.processes import free_port, wait_until
from tests.support.servers.json_client import ask, create, text_of
from tests.support.servers.redis_server import Wire, say, serving_redis

pytestmark = pytest.mark.slow
TURNS = ["one", "two", "three"]


def script(port: int, **more: str) -> None:
    assert ask(port, "POST", "/_harness/script", {"script": TURNS}, **more).status == 200


def verdict(port: int, **more: str) -> str | None:
    answer = ask(port, "GET", "/_harness/report", **more)
    assert answer.status == 200
    return answer.json["verdict"]


def is_lost(port: int, **more: str) -> bool:
    return (verdict(port, **more) or "").startswith("The server dropped an earlier World of this key")


def assert_told_once(port: int) -> None:
    """The first request for what is gone fails for good, and what begins anew is not green."""
    refused = create(port)
    assert (refused.status, refused.headers["x-should-retry"]) == (503, "false")
    assert "is gone" in refused.json["error"]["message"]
    assert create(port).status == 200
    assert is_lost(port)


def test_a_store_that_comes_back_empty(start_unlooking):
    port = free_port()
    with serving_redis(port=port):
        served = start_unlooking("--store", f"redis://127.0.0.1:{port}/0")
        script(served.port)
        assert text_of(create(served.port)) == "one"
    with serving_redis(port=port):
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{served.port}/v1", api_key="sk-team")
        with pytest.raises(openai.InternalServerError, match="is gone"):
            client.responses.create(model="gpt-4.1", input="hi")
        assert is_lost(served.port)
        ask(served.port, "POST", "/_harness/world", {"name": "the next test"})
        assert verdict(served.port) is None


def lose_all(port: int, prefix: str) -> None:
    say(port, "DEL", *say(port, "KEYS", f"{prefix}:*").split())


def lose_one(port: int, prefix: str) -> None:
    say(port, "DEL", f"{prefix}:world:sk-team")


def lose_the_end(port: int, prefix: str) -> None:
    """As a replica that takes over and has not got the last requests."""
    say(port, "RPOP", f"{prefix}:world:sk-team")


@pytest.mark.parametrize("lose", [lose_all, lose_one, lose_the_end])
def test_however_it_is_lost_each_server_that_knew_it_says_so(start_unlooking, store, redis_port, lose):
    ours, other = start_unlooking(*store), start_unlooking(*store)
    script(ours.port)
    assert [text_of(create(server.port)) for server in (ours, other, ours)] == TURNS
    lose(redis_port, store[-1])
    assert_told_once(ours.port)
    assert is_lost(other.port)
    assert 503 not in [create(server.port).status for server in (other, ours)]
    ask(other.port, "POST", "/_harness/world", {"name": "the next test"})
    assert [verdict(server.port) for server in (ours, other)] == [None, None]


def test_a_log_that_others_have_continued_after_it_was_shorter(start_unlooking, store, redis_port):
    """The one server has carried out what the other never saw, and is found out by the last entry it knows."""
    ours, other = start_unlooking(*store), start_unlooking(*store)
    script(ours.port)
    for _ in range(2):
        create(ours.port)
    lose_the_end(redis_port, store[-1])
    assert text_of(create(other.port)) == "two"
    assert create(ours.port).headers["x-should-retry"] == "false"
    assert is_lost(other.port)
    assert ask(ours.port, "GET", "/_harness/exchanges").body == ask(other.port, "GET", "/_harness/exchanges").body


@pytest.mark.parametrize("lose", [lose_all, lose_one])
def test_what_begins_anew_on_a_server_that_never_knew_it(start, store, redis_port, lose):
    ours, other = start(*store), start(*store)
    script(ours.port)
    create(other.port, key="sk-else")
    lose(redis_port, store[-1])
    assert create(other.port).status == 200
    assert wait_until(lambda: is_lost(other.port))
    assert_told_once(other.port)


def wait_until_noted(port: int, prefix: str) -> None:
    """Wait until a server has begun a new log in place of the one that was deleted, and noted the loss there."""
    assert wait_until(lambda: int(say(port, "EXISTS", f"{prefix}:world:sk-team")))


@pytest.mark.parametrize("lose", [lose_all, lose_one])
def test_a_server_that_has_looked_before_the_first_request(start, store, redis_port, lose):
    served = start(*store)
    script(served.port)
    lose(redis_port, store[-1])
    wait_until_noted(redis_port, store[-1])
    assert create(served.port, key="sk-else").status == 200
    assert_told_once(served.port)


@pytest.mark.parametrize("lose", [lose_all, lose_one, lose_the_end])
def test_a_verdict_that_was_read_before_the_first_request(start_unlooking, store, redis_port, lose):
    served = start_unlooking(*store)
    script(served.port)
    create(served.port)
    lose(redis_port, store[-1])
    assert is_lost(served.port)
    assert_told_once(served.port)


@pytest.mark.parametrize("asked", ["followed it", "never knew it", "has started since"])
def test_one_of_all_servers_refuses_the_first_request_after_a_look(start, store, redis_port, asked):
    ours, other, stranger = start(*store), start(*store), start(*store)
    script(ours.port)
    create(other.port)
    lose_one(redis_port, store[-1])
    wait_until_noted(redis_port, store[-1])
    if asked == "has started since":
        ours.end(signal.SIGTERM)
        ours = start(*store)
    first = {"followed it": other, "never knew it": stranger, "has started since": ours}[asked]
    assert_told_once(first.port)
    servers = [ours, other, stranger]
    assert [create(served.port).status for served in servers] == [200, 200, 200]
    assert all(is_lost(served.port) for served in servers)


def test_who_begins_anew_after_a_look_is_not_refused(start, store, redis_port):
    served = start(*store)
    script(served.port)
    lose_one(redis_port, store[-1])
    wait_until_noted(redis_port, store[-1])
    ask(served.port, "POST", "/_harness/world", {"name": "the next test"})
    assert create(served.port).status == 200
    assert verdict(served.port) is None


def test_a_websocket_that_ends_before_the_first_request(start_unlooking, store, redis_port):
    served = start_unlooking(*store)
    address = f"ws://127.0.0.1:{served.port}/v1/responses"
    with connect(address, additional_headers={"Authorization": "Bearer sk-team"}) as wire:
        wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"}))
        while json.loads(wire.recv(10))["type"] != "response.completed":
            pass
        lose_one(redis_port, store[-1])
    wait_until_noted(redis_port, store[-1])
    assert_told_once(served.port)


def test_another_store_behind_the_same_address(start_unlooking):
    with serving_redis() as first, serving_redis() as second:
        wire = Wire(("127.0.0.1", first), ("127.0.0.1", second))
        served = start_unlooking("--store", f"redis://127.0.0.1:{wire.port}/0")  # tried once at the start, as it is now
        for _ in range(2):
            create(served.port, "hi")
        wire.cut()
        assert create(served.port).headers["x-should-retry"] == "false"
        assert is_lost(served.port)
        wire.close()


def test_what_a_server_does_not_have_in_memory_any_more(start_unlooking, store, redis_port):
    served = start_unlooking(*store, "--worlds", "1")
    script(served.port)
    create(served.port, key="sk-else")
    lose_all(redis_port, store[-1])
    assert_told_once(served.port)
