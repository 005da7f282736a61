"""What a store can do wrong: a server says so at its start, or to each request, and goes on when it is over."""

import asyncio
import json
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from responses_harness_cluster.log_entries import Append
from responses_harness_cluster.redis_log import RedisLog
from responses_harness_cluster.server_record import ServerRecord
from websockets.sync.client import connect

from tests.support.processes import free_port, wait_until
from tests.support.servers.json_client import ask, create, text_of
from tests.support.servers.redis_server import Wire, say, serving_redis
from tests.support.servers.served import refused_start, serving

pytestmark = pytest.mark.slow


def url(port: int, head: str = "") -> tuple[str, str]:
    return "--store", f"redis://{head}127.0.0.1:{port}/0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--store", "mysql://x"), "pass `memory`, or redis://HOST:PORT/NUMBER"),
        (("--store", "redis://127.0.0.1:x/0"), "Pass redis://HOST:PORT/NUMBER"),
        (("--store-prefix", "a"), "applies only to a shared --store"),
        (("--store", "redis://127.0.0.1:1/0", "--script", "bench/script.py"), "is bound to one process"),
        (("--store", "redis://127.0.0.1:1/0"), "Start it, or pass the address of a running one"),
        (("--store", "redis://127.0.0.1:1/0", "--", "true"), "--store is only for servers without a COMMAND"),
    ],
)
def test_what_cannot_be_shared_is_said_at_the_start(options, words):
    assert words in refused_start(*options)


def test_a_password_that_is_wrong_is_said_and_not_shown():
    with serving_redis("--requirepass", "right") as port:
        said = refused_start(*url(port, ":wrong-one@"))
        assert "redis://USER:PASSWORD@HOST:PORT/NUMBER" in said
        assert "wrong-one" not in said
        with serving(*url(port, ":right@")) as served:
            assert create(served.port).status == 200


def test_servers_that_would_answer_differently_do_not_share(store, start, redis_port, tmp_path: Path):
    start(*store)
    assert "other values of --keep, --zdr" in refused_start(*store, "--zdr", "--keep", "5")
    prefix = store[-1]
    record = say(redis_port, "GET", f"{prefix}:server").strip()
    say(redis_port, "SET", f"{prefix}:server", record.replace('"version":"', '"version":"9.'))
    assert "servers of harness 9." in refused_start(*store)
    say(redis_port, "SET", f"{prefix}:server", record.replace('"code":"', '"code":"f'))
    assert "servers of another build" in refused_start(*store)
    say(redis_port, "SET", f"{prefix}:server", "[]")
    assert "not one of this program" in refused_start(*store)


def test_a_prefix_that_others_took_answers_503(store, start, redis_port):
    served = start(*store)
    create(served.port)
    record = say(redis_port, "GET", f"{store[-1]}:server").strip()
    say(redis_port, "SET", f"{store[-1]}:server", record.replace('"version":"', '"version":"9.'))
    refused = create(served.port)
    assert refused.status == 503
    assert "servers of harness 9." in refused.json["error"]["message"]
    say(redis_port, "SET", f"{store[-1]}:server", record)
    assert create(served.port).status == 200


def test_a_store_that_ends_and_comes_back(start):
    port = free_port()
    with serving_redis(port=port):
        served = start(*url(port))
        assert create(served.port).status == 200
    lost = create(served.port)
    assert (lost.status, lost.json["error"]["type"]) == (503, "server_error")
    assert "harness: the shared store cannot be used" in lost.json["error"]["message"]
    assert ask(served.port, "GET", "/_harness/report").status == 503
    assert ask(served.port, "GET", "/_harness/health", key="").status == 200
    with serving_redis(port=port):
        gone = create(served.port)
        assert (gone.status, "is gone" in gone.json["error"]["message"]) == (503, True)
        assert create(served.port).status == 200


def test_requests_that_the_store_could_not_take_are_logged_and_counted(start):
    port = free_port()
    with serving_redis(port=port):
        served = start(*url(port), "--metrics", "--log", "json")
        assert create(served.port).status == 200
    assert [create(served.port).status for _ in range(2)] == [503, 503]
    said = ask(served.port, "GET", "/_harness/metrics").body.decode()
    assert 'harness_requests_total{dialect="openai",operation="POST /responses",status="503"} 2.0' in said
    _, _, said = served.end(signal.SIGTERM)
    logged = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [line["status"] for line in logged] == [200, 503, 503]
    assert logged[-1].items() >= {"operation": "POST /responses", "model": "gpt-4.1", "world": None}.items()


def test_a_store_that_is_full(start):
    with serving_redis("--maxmemory", "3mb") as port:
        served = start(*url(port))
        assert create(served.port).status == 200
        seen = [create(served.port, "x" * 100_000).status for _ in range(60)]
        assert seen[0] == 200
        assert seen[-1] == 503
        full = create(served.port, "x" * 100_000)
        assert "maxmemory" in full.json["error"]["message"]
        say(port, "CONFIG", "SET", "maxmemory", "100mb")
        assert create(served.port).status == 200
        numbers = [exchange["number"] for exchange in ask(served.port, "GET", "/_harness/exchanges").json]
        assert len(numbers) == 2 + seen.count(200)


def verdict(port: int, **more: str) -> str:
    answer = ask(port, "GET", "/_harness/report?unused=allow", **more)
    assert answer.status == 200, answer.body
    return answer.json["verdict"] or ""


def test_requests_that_a_full_store_does_not_take_are_in_the_verdict_of_each_server(start):
    with serving_redis() as port:
        ours, other = start(*url(port)), start(*url(port))
        ask(ours.port, "POST", "/_harness/script", {"script": ["one", "two"]})
        assert text_of(create(ours.port)) == "one"
        say(port, "CONFIG", "SET", "maxmemory", "1")
        assert [create(ours.port).status for _ in range(3)] == [503, 503, 503]
        assert verdict(ours.port).startswith("The server failed to answer 3 requests: redis://127.0.0.1")
        assert "It is full: raise its `maxmemory`" in verdict(ours.port)
        assert "Run the test again once the store takes all requests" in verdict(ours.port)
        assert ask(ours.port, "GET", "/_harness/unused").json["problems"]
        say(port, "CONFIG", "SET", "maxmemory", "0")
        assert wait_until(lambda: verdict(other.port) == verdict(ours.port))
        assert text_of(create(other.port)) == "two"
        assert verdict(ours.port).startswith("The server failed to answer 3 requests: ")
        ask(other.port, "POST", "/_harness/world", {"name": "the next test"})
        time.sleep(2.5)  # longer than a server takes to tell the others
        assert (verdict(ours.port), verdict(other.port)) == ("", "")


def test_a_key_whose_requests_a_store_never_took_has_a_verdict(start):
    with serving_redis() as port:
        served = start(*url(port))
        say(port, "CONFIG", "SET", "maxmemory", "1")
        assert create(served.port, key="sk-never").status == 503
        assert verdict(served.port, key="sk-never").startswith("The server failed to answer 1 request: ")
        assert verdict(served.port, key="sk-other") == ""


def test_what_another_server_failed_to_answer_does_not_reach_the_next_test(start):
    with serving_redis() as port:
        ours, other = start(*url(port)), start(*url(port))
        assert create(ours.port).status == 200
        say(port, "CONFIG", "SET", "maxmemory", "1")
        assert create(other.port).status == 503
        say(port, "CONFIG", "SET", "maxmemory", "0")
        ask(ours.port, "POST", "/_harness/world", {"name": "the next test"})
        assert wait_until(lambda: (verdict(ours.port), verdict(other.port)) == ("", ""), 20)
        time.sleep(2.5)  # twice as long as a server waits before it tells the others
        assert (verdict(ours.port), verdict(other.port)) == ("", "")


def test_what_concerns_a_world_is_not_logged_once_that_has_been_reset(redis_port, store):
    log = RedisLog(f"redis://127.0.0.1:{redis_port}/0", store[-1], ServerRecord("0", "0", {}), 60)

    async def append() -> list[int]:
        known = Append("sk-team", "", 0, 0, "", 0, request=b"[]\n", mark="a.")
        reset, late = known._replace(is_reset=True, mark="b."), known._replace(position=1, is_bound=True, mark="c.")
        in_time = late._replace(position=2, mark="d.")
        numbers = [tail.own for call in (known, reset, late, in_time) for tail in await log.append([call])]
        await log.close()
        return numbers

    assert asyncio.run(append()) == [1, 2, 0, 3]


def test_a_message_of_a_websocket_and_a_body_that_the_store_does_not_take_are_in_the_verdict(start):
    with serving_redis() as port:
        served = start(*url(port))
        headers = {"Authorization": "Bearer sk-team"}
        with connect(f"ws://127.0.0.1:{served.port}/v1/responses", additional_headers=headers) as wire:
            say(port, "CONFIG", "SET", "maxmemory", "1")
            wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"}))
            assert json.loads(wire.recv(10))["status"] == 503
        assert "The server failed to answer 1 request: " in verdict(served.port)
        say(port, "CONFIG", "SET", "maxmemory", "0")
        ask(served.port, "POST", "/_harness/world", {"name": "the next test"})
        assert create(served.port, "x" * (33 << 20)).status == 418
        assert "and the limit of the shared store is" in verdict(served.port)


def test_a_slow_store_and_one_that_breaks_off(start, redis_port, store):
    wire = Wire(("127.0.0.1", redis_port))
    served = start("--store", f"redis://127.0.0.1:{wire.port}/0", *store[2:])
    other = start(*store)
    ask(other.port, "POST", "/_harness/script", {"script": [f"turn {number}" for number in range(41)]})
    wire.delay = 0.05
    assert text_of(create(served.port)) == "turn 0"
    with ThreadPoolExecutor(4) as clients:
        asked = [clients.submit(create, served.port) for _ in range(40)]
        for _ in range(8):
            time.sleep(0.06)
            wire.cut()
        answers = [request.result() for request in asked]
    texts = [text_of(answer) for answer in answers if answer.status == 200]
    unknown = [answer for answer in answers if answer.status == 503 and answer.headers.get("x-should-retry") == "false"]
    assert max(Counter(texts).values()) == 1
    taken = ask(other.port, "GET", "/_harness/said").json
    assert len(texts) < len(taken) <= len(texts) + 1 + len(unknown)
    wire.close()
    assert create(served.port).status == 503
    assert create(other.port).status == 200


def test_a_store_that_takes_too_long(start, redis_port, store):
    wire = Wire(("127.0.0.1", redis_port))
    options = ("--store", f"redis://127.0.0.1:{wire.port}/0", *store[2:])
    with serving(
        *options, patch="from responses_harness_cluster import redis_log; redis_log.ANSWER_SECONDS = 1.0"
    ) as served:
        assert create(served.port).status == 200
        wire.delay = 1.2
        late = create(served.port)
        assert (late.status, late.headers["x-should-retry"]) == (503, "false")
        assert "no answer. The timeout for an answer is 1 s." in late.json["error"]["message"]
        wire.delay = 0
        assert wait_until(lambda: create(served.port).status == 200, 10)


def test_a_world_that_expires(start, store):
    served = start(*store, "--store-seconds", "1")
    first = create(served.port).json["id"]
    time.sleep(2)
    assert create(served.port, previous_response_id=first).status == 400
    assert "had dropped" not in ask(served.port, "GET", "/_harness/report").json["verdict"]


def test_clocks_of_machines_do_not_matter(start, store):
    late = serving(*store, patch="import time; now = time.time; time.time = lambda: now() + 60")
    with late as other:
        served = start(*store)
        times = [create(server.port).json["created_at"] for server in (served, other, served, other)]
    assert times == list(range(times[0], times[0] + 4))


def test_a_large_request_is_refused_whole(start, store):
    served = start(*store)
    refused = create(served.port, "x" * (33 << 20))
    assert (refused.status, "--store memory" in refused.json["error"]["message"]) == (418, True)


def test_a_server_killed_at_any_moment_leaves_nothing_half_done(start, store):
    """48 times a server is killed while it answers; what it had begun is done whole, or not at all."""
    safe, seen = start(*store), []
    for attempt in range(48):
        if attempt % 16 == 0:
            seen = []
            ask(safe.port, "POST", "/_harness/world", {"name": f"round {attempt}"})
            ask(safe.port, "POST", "/_harness/script", {"script": [f"turn {number}" for number in range(400)]})
        with serving(*store) as risky, ThreadPoolExecutor(4) as clients:
            assert text_of(create(risky.port)) not in seen
            asked = [clients.submit(_text_or_nothing, risky.port) for _ in range(4)]
            time.sleep(attempt % 16 * 0.001)
            risky.child.kill()
            seen += [text for request in asked if (text := request.result())]
        seen.append(text_of(create(safe.port)))
        if attempt % 16 == 15:
            said = [reply["text"] for reply in ask(safe.port, "GET", "/_harness/said").json]
            assert max(Counter(seen).values()) == 1
            assert said == [f"turn {number}" for number in range(len(said))]
            assert set(seen) <= set(said)


def _text_or_nothing(port: int) -> str:
    try:
        return text_of(create(port))
    except (OSError, HTTPException):
        return ""


def test_chains_over_two_addresses_behind_a_balancer(store):
    """1,000 chains of three turns, each turn over a new connection to whichever server comes next."""
    with serving(*store) as ours, serving(*store, "--host", "127.0.0.2") as other:
        wire = Wire(("127.0.0.1", ours.port), ("127.0.0.2", other.port))
        lookups = {"function_call": {"name": "look_up", "arguments": {}}}
        ask(
            ours.port,
            "POST",
            "/_harness/script",
            {"when": {"input": "hand over"}, "turns": [[lookups]], "repeat": True},
        )
        for step in ("found", "thanks"):
            when = {"when": {"input": step}, "turns": [[{"message": f"after {step}"}]], "repeat": True}
            assert ask(wire.port, "POST", "/_harness/script", when).status == 200
        with ThreadPoolExecutor(8) as agents:
            ends = list(agents.map(lambda number: _chain(wire.port, number), range(1000)))
        assert ends == ["after thanks"] * 1000
        journal = ask(ours.port, "GET", "/_harness/exchanges").json
        assert [exchange["number"] for exchange in journal] == list(range(journal[0]["number"], 3_001))
        wire.close()


def _chain(port: int, number: int) -> str:
    tools = [{"type": "function", "name": "look_up", "parameters": {}, "strict": False}]
    first = create(port, f"agent {number}: hand over", tools=tools).json
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "found"}
    second = create(port, [output], previous_response_id=first["id"], tools=tools).json
    return text_of(create(port, "thanks", previous_response_id=second["id"]))


SHORT_LOGS = "import responses_harness_cluster.redis_log as log; log.MOST_ENTRIES = 40"


def test_a_key_is_used_without_end_where_its_requests_are_known(store, redis_port):
    with serving(*store, patch=SHORT_LOGS) as ours, serving(*store, patch=SHORT_LOGS) as other, serving() as alone:
        ids = [create((ours, other)[number % 2].port).json["id"] for number in range(150)]
        assert ids == [create(alone.port).json["id"] for _ in range(150)]
        assert int(say(redis_port, "LLEN", f"{store[-1]}:world:sk-team")) <= 41
        with serving(*store, patch=SHORT_LOGS) as late:
            refused = create(late.port)
            assert (refused.status, "dropped the first" in refused.json["error"]["message"]) == (503, True)
            assert ask(late.port, "GET", "/_harness/exchanges").status == 503
            assert create(ours.port, previous_response_id=ids[0]).status == 200
            assert ask(late.port, "POST", "/_harness/world", {"name": "again"}).status == 200
            assert {create(server.port).status for server in (late, ours, other)} == {200}
            assert len(ask(ours.port, "GET", "/_harness/exchanges").json) == 3
