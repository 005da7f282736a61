"""A store that takes connections and answers nothing: whoever waits for it waits no longer than the manual says."""

import asyncio
import json
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
from responses_harness_cluster import redis_log
from responses_harness_cluster.log_entries import Append, StoreLost
from responses_harness_cluster.server_record import ServerRecord
from websockets.sync.client import connect

from tests.support.servers.json_client import ask, create
from tests.support.servers.redis_server import Wire
from tests.support.servers.served import Served, refused_start, serving
from tests.support.servers.stalling import Stall, stalling

pytestmark = pytest.mark.slow
HEADERS = {"Authorization": "Bearer sk-team"}
HI = {"model": "gpt-4.1", "input": "hi"}
SECONDS = 1.5
"""What the servers here wait for an answer, in place of 5."""
SLACK = 3.0
"""What a busy machine may need besides: with the 5 s, or one wait after another, it would be more all the same."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


@pytest.fixture
def wire(redis_port: int) -> Iterator[Wire]:
    made = Wire(("127.0.0.1", redis_port))
    yield made
    made.delay = 0
    made.close()


@pytest.fixture
def served(wire: Wire, store: tuple[str, ...]) -> Iterator[Served]:
    with serving_behind(wire, store, SECONDS) as made:
        yield made


@contextmanager
def serving_behind(wire: Wire, store: tuple[str, ...], seconds: float) -> Iterator[Served]:
    """Provide a server that waits so many seconds for an answer of the store behind this wire."""
    patch = (
        "from responses_harness_cluster import redis_log, replicas\n"
        f"redis_log.ANSWER_SECONDS, replicas.LOOK_SECONDS = {seconds}, 3600  # a look would wait, too"
    )
    with serving("--store", f"redis://127.0.0.1:{wire.port}/0", *store[2:], "--metrics", patch=patch) as made:
        assert create(made.port).status == 200
        yield made


def stand_still(wire: Wire) -> None:
    """Take what comes, old connections and new ones, and answer none of it."""
    wire.delay = 3600


def test_at_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, within(20):
        said = refused_start("--store", f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
    assert "no answer. The timeout for an answer is 5 s." in said


def test_requests_of_all_kinds(served: Served, wire: Wire) -> None:
    assert (
        ask(served.port, "GET", "/_harness/report").status == 200
    )  # the control plane is imported with its first request
    stand_still(wire)
    with within(SECONDS + SLACK):
        late = create(served.port)
    assert (late.status, late.headers["x-should-retry"]) == (503, "false")
    asked = [
        lambda: create(served.port),  # over a new connection, on which nothing was sent
        lambda: create(served.port, key="sk-new"),
        lambda: create(served.port, key=""),
        lambda: ask(served.port, "GET", "/_harness/report"),
        lambda: ask(served.port, "POST", "/_harness/script", {"script": ["one"]}),
        lambda: ask(served.port, "DELETE", "/_harness/world"),
    ]
    for request in asked:
        with within(SECONDS + SLACK):
            answer = request()
        assert (answer.status, answer.headers.get("x-should-retry")) == (503, None)


def test_those_who_come_meanwhile_do_not_wait_one_after_another(served: Served, wire: Wire) -> None:
    stand_still(wire)
    with within(2 * SECONDS + SLACK), ThreadPoolExecutor(20) as clients:
        asked = []
        for number in range(20):
            asked.append(clients.submit(create, served.port, key=f"sk-{number}"))
            time.sleep(SECONDS / 25)
        assert {request.result().status for request in asked} == {503}


def test_health_and_metrics_do_not_wait_at_all(wire: Wire, store: tuple[str, ...]) -> None:
    with serving_behind(wire, store, seconds=60) as served, ThreadPoolExecutor(1) as client:
        stand_still(wire)
        asked = client.submit(create, served.port)
        assert ask(served.port, "GET", "/_harness/health", key="").status == 200
        assert ask(served.port, "GET", "/_harness/metrics", key="").status == 200
        assert not asked.done()
        wire.delay = 0
        wire.cut()
        assert asked.exception(30) is None


def test_a_websocket(served: Served, wire: Wire) -> None:
    with connect(f"ws://127.0.0.1:{served.port}/v1/responses", additional_headers=HEADERS) as client:
        stand_still(wire)
        client.send(json.dumps({"type": "response.create", **HI}))
        with within(SECONDS + SLACK):
            assert json.loads(client.recv(10))["status"] == 503


def test_the_end_of_the_server(served: Served, wire: Wire) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", "/_harness/health")
    assert connection.getresponse().read()  # so the server has accepted the connection and reads the next request
    stand_still(wire)
    connection.request("POST", "/v1/responses", json.dumps(HI), HEADERS)
    seconds, code, said = served.end(signal.SIGTERM)
    assert connection.getresponse().status == 503
    connection.close()
    assert (code, seconds < SECONDS + SLACK) == (0, True)
    assert "Traceback" not in said


def test_a_store_that_goes_on(served: Served, wire: Wire) -> None:
    stand_still(wire)
    assert create(served.port).status == 503
    wire.delay = 0
    with within(SECONDS + SLACK):
        assert create(served.port).status == 200


@pytest.mark.parametrize(
    "stall",
    [Stall(), Stall(b"$1000000\r\n", b"x"), Stall(b"$1000000000\r\n", b"x" * 65536, 0.0)],
    ids=["silent", "trickling", "endless"],
)
def test_no_store_extends_the_deadline(monkeypatch, stall):
    monkeypatch.setattr(redis_log, "ANSWER_SECONDS", 0.3)

    async def append(url: str) -> list[object]:
        log = redis_log.RedisLog(url, "t", ServerRecord("0", "0", {}), 60)
        return list(await log.append([Append("sk-team", "", 0, 0, "", 0)]))

    with stalling(stall) as origin:
        (lost,) = asyncio.run(append(f"redis{origin.removeprefix('http')}/0"))
    assert isinstance(lost, StoreLost)
    assert "The timeout for an answer is 0.3 s" in str(lost)
