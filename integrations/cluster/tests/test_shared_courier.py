"""Each attempt at a webhook is made by one of the servers that share a World; what one leaves undone another one does."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
from responses_harness_cluster.log_entries import HURRY, RECORD, TAKE, LoggedRequest
from responses_harness_cluster.shared_courier import SERVER_ENDED, apply_to_webhooks

from harness.core.webhooks import WebhookDelivery
from harness.world.webhooks import Webhooks
from harness.world.world import World
from tests.support.processes import wait_until
from tests.support.servers.json_client import ask, create


class Hook:
    """A receiver: `got` are the `webhook-id` and the event of each delivery. It answers `statuses`, the last for ever.

    While it `holds`, deliveries get no answer.
    """

    def __init__(self) -> None:
        self.got: list[tuple[str, Any]] = []
        self.statuses = [200]
        self.answers = threading.Event()
        self.answers.set()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                hook.got.append((self.headers["webhook-id"], body))
                hook.answers.wait(20)
                try:
                    self.send_response(hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0])
                    self.send_header("content-length", "0")
                    self.end_headers()
                except OSError:  # the server that delivered has ended
                    return

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def responses(self) -> list[str]:
        """The responses of which it was told, in order."""
        return [body["data"]["id"] for _, body in self.got]


@pytest.fixture
def hook() -> Iterator[Hook]:
    started = Hook()
    yield started
    started.stop()


def register(port: int, hook: Hook, **options: Any) -> None:
    assert ask(port, "POST", "/_harness/script", {"webhooks": {"url": hook.url, **options}}).status == 200


def begin(port: int) -> str:
    return str(create(port, background=True).json["id"])


def advance(port: int) -> None:
    for _ in range(2):
        assert ask(port, "POST", "/_harness/advance", {}).status == 200


def deliveries(port: int) -> list[Any]:
    return list(ask(port, "GET", "/_harness/deliveries").json["deliveries"])


@pytest.mark.slow
class TestServersThatShareAStore:
    def test_deliver_each_event_once_and_all_know_of_it(self, start, store, hook):
        ports = [start(*store).port for _ in range(3)]
        register(ports[0], hook)
        jobs = [begin(ports[number % 3]) for number in range(12)]
        advance(ports[1])
        told = [deliveries(port) for port in ports]
        assert sorted(hook.responses) == sorted(jobs)
        assert told[0] == told[1] == told[2]
        assert [(made["response"], made["attempt"], made["status"]) for made in told[0]] == [
            (id, 1, 200) for id in hook.responses
        ]

    def test_tell_the_address_of_the_command_line(self, start, store, hook):
        ours, other = (start(*store, "--webhook", hook.url) for _ in range(2))
        job = begin(ours.port)
        advance(other.port)
        assert [made["response"] for made in deliveries(ours.port)] == hook.responses == [job]

    def test_make_a_retry_when_its_time_has_passed(self, start, store, hook):
        ports = [start(*store).port for _ in range(2)]
        hook.statuses = [500, 200]
        register(ports[0], hook)
        begin(ports[0])
        advance(ports[1])
        assert wait_until(lambda: len(hook.got) == 2, 12)
        assert hook.got[0][0] == hook.got[1][0]
        assert [(made["attempt"], made["status"]) for made in deliveries(ports[0])] == [(1, 500), (2, 200)]

    def test_make_a_retry_at_once_when_time_is_skipped(self, start, store, hook):
        ports = [start(*store).port for _ in range(2)]
        hook.statuses = [500, 200]
        register(ports[0], hook)
        begin(ports[0])
        advance(ports[0])
        assert len(deliveries(ports[1])) == 1
        ask(ports[1], "POST", "/_harness/skip", {"seconds": 5})
        assert [made["status"] for made in deliveries(ports[0])] == [500, 200]

    def test_deliver_what_a_killed_one_has_left(self, start, store, hook):
        killed, other = start(*store), start(*store)
        register(killed.port, hook, timeout=1)
        jobs = [begin(killed.port), begin(killed.port)]
        assert ask(other.port, "GET", "/_harness/exchanges").status == 200
        hook.answers.clear()
        advance(killed.port)  # the first event is on its way, the second one is due
        assert wait_until(lambda: len(hook.got) == 1, 5)
        killed.child.kill()
        killed.child.wait()
        hook.answers.set()
        assert wait_until(lambda: len(hook.got) == 3, 30)
        begun, left, again = hook.got
        assert [body["data"]["id"] for _, body in (begun, left)] == jobs
        assert again == begun  # as the API tries again what has got no answer: the receiver knows it by its id
        made = deliveries(other.port)
        assert [(entry["response"], entry["attempt"], entry["status"], entry["error"]) for entry in made] == [
            (jobs[0], 1, None, SERVER_ENDED),
            (jobs[1], 1, 200, ""),
            (jobs[0], 2, 200, ""),
        ]
        time.sleep(2)
        assert len(hook.got) == 3

    def test_servers_that_are_all_killed_leave_it_to_one_that_comes_later(self, start, store, hook):
        killed = start(*store)
        hook.statuses = [500, 200]
        register(killed.port, hook)
        job = begin(killed.port)
        advance(killed.port)
        assert wait_until(lambda: len(hook.got) == 1, 5)
        killed.child.kill()
        killed.child.wait()
        later = start(*store)
        assert create(later.port, key="sk-other").status == 200
        assert wait_until(lambda: hook.responses == [job, job], 30)


@pytest.mark.slow
def test_servers_that_share_a_store_deliver_each_event_once(start, store, hook):
    servers, jobs = [start(*store) for _ in range(3)], []
    for number in range(6):
        key, server = f"sk-{number}", servers[number % 3]
        ask(server.port, "POST", "/_harness/script", {"webhooks": hook.url}, key)
        jobs.append(create(server.port, background=True, key=key).json["id"])
        for other in servers[:2]:
            ask(other.port, "POST", "/_harness/advance", {}, key)
        made = ask(server.port, "GET", "/_harness/deliveries", key=key).json["deliveries"]
        assert [(entry["response"], entry["status"]) for entry in made] == [(jobs[-1], 200)]
    assert sorted(hook.responses) == sorted(jobs)


@pytest.fixture
def world() -> World:
    """A World with two events that are due."""
    made = World("due")
    made.webhooks = webhooks = Webhooks(made.ids)
    webhooks.add_endpoint("http://localhost/hook")
    for id in ("resp_1", "resp_2"):
        webhooks.add_event({"id": id, "status": "completed"}, made.now)
    return made


def webhooks_of(world: World) -> Webhooks:
    assert world.webhooks is not None
    return world.webhooks


def test_the_first_of_two_servers_in_the_log_takes_an_attempt(world: World) -> None:
    taken = apply_to_webhooks(world, LoggedRequest(TAKE, session="ours"))
    assert taken is not None
    assert taken[0].event.response == "resp_1"
    assert apply_to_webhooks(world, LoggedRequest(TAKE, session="other's")) is None


def test_what_came_of_an_attempt_is_recorded_once(world: World) -> None:
    apply_to_webhooks(world, LoggedRequest(TAKE, session="ours"))
    for _ in range(2):
        apply_to_webhooks(world, LoggedRequest(RECORD, session="ours"))
    [made] = webhooks_of(world).deliveries
    assert (made.response, made.status, made.error) == ("resp_1", None, SERVER_ENDED)
    apply_to_webhooks(world, LoggedRequest(TAKE, session="other's"))
    assert [due.event.response for due, _ in webhooks_of(world).in_progress.values()] == ["resp_2"]


def test_a_record_is_read_as_it_was_made(world: World) -> None:
    apply_to_webhooks(world, LoggedRequest(TAKE, session="ours"))
    made = WebhookDelivery("response.completed", "resp_1", "wh_1", "http://x", 1, 7, "valid", 200, exchanges=(1, 3))
    apply_to_webhooks(world, LoggedRequest(RECORD, session="ours", raw=orjson.dumps(made)))
    assert webhooks_of(world).deliveries == [made]
    assert webhooks_of(world).deliveries[0].exchanges == (1, 3)


def test_a_wait_that_is_over_makes_the_next_attempt_due(world: World) -> None:
    for _ in range(2):
        apply_to_webhooks(world, LoggedRequest(TAKE, session="ours"))
        apply_to_webhooks(world, LoggedRequest(RECORD, session="ours"))
    assert not webhooks_of(world).may_take(world.now)
    later = webhooks_of(world).next_time(world.now)
    apply_to_webhooks(world, LoggedRequest(HURRY, session=str(later)))
    assert webhooks_of(world).may_take(world.now)


def test_a_world_that_began_anew_passes_over_what_was_for_the_one_before() -> None:
    assert apply_to_webhooks(World("anew"), LoggedRequest(RECORD, session="ours")) is None
    assert apply_to_webhooks(None, LoggedRequest(TAKE, session="ours")) is None
