"""Webhooks over HTTP: registered by a script, delivered to a URL, read and judged, as a test in another language would."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from harness.core.advice_wording import JSON
from harness.core.webhooks import DEFAULT_SECRET
from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.servers.json_client import KeyClient

SECRET = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0"


class Hook:
    """A receiver that answers the `statuses` one after the other, the last one for ever."""

    def __init__(self, *statuses: int) -> None:
        self.bodies: list[Any] = []
        hook, left = self, list(statuses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(left.pop(0) if len(left) > 1 else left[0])
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def hook(request: pytest.FixtureRequest) -> Iterator[Hook]:
    started = Hook(*getattr(request, "param", (200,)))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(fallback=lambda _: [message("unscripted")], vocabulary=JSON)) as running:
        yield running


@pytest.fixture
def client(server: Server, request: pytest.FixtureRequest) -> KeyClient:
    return KeyClient(server.port, f"sk-{request.node.name}".encode("ascii", "ignore").decode())


def run_job(client: KeyClient) -> str:
    _, made = client.send("POST", "/v1/responses", {"model": "gpt-4.1", "input": "hi", "background": True})
    for _ in range(2):
        client.act("advance", {})
    return str(made["id"])


def test_a_script_registers_a_hook_and_says_its_secret(client, hook):
    sent = {"webhooks": [hook.url, {"url": f"{hook.url}/2", "secret": SECRET}], "script": [{"message": "hi"}]}
    _, made = client.act("script", sent)
    assert made["webhooks"] == {hook.url: DEFAULT_SECRET, f"{hook.url}/2": SECRET}
    id = run_job(client)
    _, told = client.send("GET", "/_harness/deliveries")
    assert [(made["url"], made["response"], made["status"]) for made in told["deliveries"]] == [
        (hook.url, id, 200),
        (f"{hook.url}/2", id, 200),
    ]
    assert [body["data"] for body in hook.bodies] == [{"id": id}] * 2
    assert told["mistakes"] == []


@pytest.mark.parametrize("hook", [(500, 200)], indirect=True)
def test_time_that_is_skipped_lets_a_retry_be_made(client, hook):
    client.act("script", {"webhooks": hook.url})
    run_job(client)
    assert len(client.look("deliveries")["deliveries"]) == 1
    client.act("skip", {"seconds": 5})
    _, told = client.send("GET", "/_harness/deliveries")
    assert [(made["attempt"], made["status"]) for made in told["deliveries"]] == [(1, 500), (2, 200)]


def test_a_wrong_receiver_is_in_the_verdict_unless_that_is_allowed(client, hook):
    client.act("script", {"webhooks": {"url": hook.url, "faults": ["forged"]}})
    run_job(client)
    _, judged = client.send("GET", "/_harness/report")
    assert judged["verdict"].startswith("Webhook webhook-unverified: the receiver accepted delivery 1")
    assert "GET /_harness/report?webhooks=allow" in judged["verdict"]
    assert client.look("report?webhooks=allow")["verdict"] is None


def test_a_script_may_allow_a_mistake(client, hook):
    webhook = {"url": hook.url, "faults": ["stale"], "allow": ["webhook-replayed"]}
    client.act("script", {"webhooks": webhook})
    run_job(client)
    assert client.look("report")["verdict"] is None


@pytest.mark.parametrize(
    ("webhooks", "said"),
    [
        ({"secret": SECRET}, "webhooks: url is missing"),
        ([{"url": "http://x", "faults": ["late"]}], "webhooks[0]: webhooks(faults=['late']): "),
        ({"url": "http://x", "timeout": 0}, "webhooks.timeout: timeout is 0. Pass a number above 0."),
        ({"url": "http://x", "allow": ["webhook-lat"]}, "Did you mean 'webhook-late'?"),
        ("nowhere", "pass a URL like http://localhost:8000/hook"),
        ({"uri": "http://x"}, "no member of a webhook 'uri'. Did you mean 'url'?"),
    ],
)
def test_a_mistake_in_the_script_is_reported_with_its_place(client, webhooks, said):
    status, refused = client.act("script", {"webhooks": webhooks})
    assert status == 400
    assert said in refused["error"]["message"]


@pytest.mark.parametrize("hook", [(503, 200)], indirect=True)
def test_a_server_that_takes_real_time_retries_by_itself(client, hook, server):
    courier = server.api.courier
    assert courier is not None
    courier.takes_real_time = True
    client.act("script", {"webhooks": hook.url})
    run_job(client)
    client.send("GET", "/_harness/deliveries")
    world = server.api.world_of({"authorization": client.headers["authorization"]})
    assert world is not None
    assert world.webhooks is not None
    assert world.webhooks.next_time(world.now) is not None
    courier._end_wait(world, world.webhooks.next_time(world.now))  # type: ignore[attr-defined]
    _, told = client.send("GET", "/_harness/deliveries")
    assert [made["status"] for made in told["deliveries"]] == [503, 200]
