"""A server with several workers is one server: a key has one World, over whichever connection its requests come."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.support.processes import children, run, wait_until
from tests.support.servers.every_request import Conversation, everything
from tests.support.servers.json_client import ask, create, text_of
from tests.support.servers.served import ROOT, read_until, serving

pytestmark = pytest.mark.slow

STREAM = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()
BODY = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
HELD = {"script": [[{"message": "Once upon a time"}, {"pause": {"until": "never", "after": 3}}], "again"]}


@pytest.fixture(scope="module")
def workers():
    with serving("--workers", "2") as served:
        yield served


@pytest.fixture
def closed_at_the_end():
    with ExitStack() as until_the_end:
        yield lambda each: until_the_end.enter_context(closing(each))


def request(key: str, body: bytes = BODY) -> bytes:
    head = (
        f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_answers_are_those_of_one_process():
    with serving("--workers", "2") as workers, serving() as plain:
        alone, shared = Conversation(plain.port), Conversation(workers.port)
        everything(alone)
        everything(shared)
        assert shared.said == alone.said


def test_keys_that_share_a_connection_have_their_own_worlds(workers, closed_at_the_end):
    connection = closed_at_the_end(http.client.HTTPConnection("127.0.0.1", workers.port, timeout=10))
    last: dict[str, str] = {}
    for number in range(40):
        key = f"sk-mixed-{number % 5}"
        body = {"model": "gpt-4.1", "input": "hi", **({"previous_response_id": last[key]} if key in last else {})}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/responses", json.dumps(body), headers)
        answer = connection.getresponse()
        assert answer.status == 200
        last[key] = json.loads(answer.read())["id"]
    assert [len(ask(workers.port, "GET", "/_harness/exchanges", key=key).json) for key in last] == [8] * 5


@pytest.mark.parametrize("path", ["/view", "/view/run", "/view/case?id=sk-seen"])
def test_no_worker_shows_its_worlds_as_if_they_were_all(workers, path):
    assert create(workers.port, key="sk-seen").status == 200
    shown = ask(workers.port, "GET", f"/_harness{path}", key="sk-seen")
    assert shown.status == 400
    assert shown.json["error"]["message"].startswith("there is no viewer with --workers 2")


def test_it_is_said_at_the_start_that_there_is_no_viewer():
    with serving("--workers", "2") as server:
        assert server.child.stdout
        assert server.child.stdout.readline().startswith("Viewer  none with --workers: ")


def test_a_head_may_come_in_pieces(workers):
    with workers.say() as wire:
        for _ in range(2):
            for piece in request("sk-pieces"):
                wire.sendall(bytes([piece]))
            head, _, body = read_until(wire, b"\r\n\r\n").partition(b"\r\n\r\n")
            size = int(re.findall(rb"content-length: (\d+)", head)[0])
            while len(body) < size:
                body += wire.recv(65536)
            assert (head.startswith(b"HTTP/1.1 200 OK"), len(body)) == (True, size)


def test_pipelined_requests_of_two_keys_are_refused(workers):
    for key in ("sk-pipe-1", "sk-pipe-2"):
        create(workers.port, key=key)
    with workers.say(request("sk-pipe-1") + request("sk-pipe-2")) as wire:
        said = read_until(wire, b"--workers cannot")
    assert said.count(b"200 OK") == 1
    assert b"400 Bad Request" in said


LONG = 8_000_000


def answers_of(wire: socket.socket, count: int) -> list[bytes]:
    """So many answers of a connection, as statuses with bodies."""
    wire.settimeout(20)
    answers, said = [], b""
    for _ in range(count):
        if b"\r\n\r\n" not in said:
            said += read_until(wire, b"\r\n\r\n")
        head, _, said = said.partition(b"\r\n\r\n")
        size = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
        while len(said) < size and (more := wire.recv(1 << 20)):
            said += more
        answers.append(head[9:12] + b" " + said[:size])
        said = said[size:]
    return answers


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "in one write"])
def test_what_is_sent_behind_a_request_waits_for_its_long_answer(workers, apart):
    long_key, key = f"sk-long-{apart}", f"sk-behind-{apart}"
    ask(workers.port, "POST", "/_harness/script", {"script": [{"message": "x" * LONG}]}, long_key)
    create(workers.port, key=key)
    first, second = request(long_key), request(key)
    with workers.say(first, *([] if apart else [second])) as wire:
        if apart:
            assert wire.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 200"  # its answer has begun
            wire.sendall(second)
        [long, behind] = answers_of(wire, 2)
    assert len(long) > LONG
    assert json.loads(long[4:])["output"][0]["content"][0]["text"] == "x" * LONG
    served, refused = (b"200", False), (b"400", True)  # what is one write may come in two pieces
    assert (behind[:3], b"--workers cannot" in behind) in ([served] if apart else [served, refused])


@pytest.mark.parametrize(
    "before", [b"\r\n", b"\r\n\r\n", b"POST /v1/responses HTTP/1.1\r\nX-Long: " + b"x" * 100_000 + b"\r\n"]
)
def test_a_head_of_any_form_leads_to_the_world_of_its_key(workers, before):
    keys = [f"sk-form-{len(before)}-{number}" for number in range(4)]
    for key in keys:
        sent = request(key)
        sent = before + (sent.partition(b"\r\n")[2] if before[:4] == b"POST" else sent)
        with workers.say(sent) as wire:
            assert [answer[:3] for answer in answers_of(wire, 1)] == [b"200"]
            wire.sendall(sent)
            assert [answer[:3] for answer in answers_of(wire, 1)] == [b"200"]
        assert create(workers.port, key=key).status == 200
    assert [len(ask(workers.port, "GET", "/_harness/exchanges", key=key).json) for key in keys] == [3] * 4


def report(port: int, key: str) -> str:
    return str(ask(port, "GET", "/_harness/report", key=key).json["report"])


def test_requests_without_a_world_are_known_to_all(workers):
    keys = [f"sk-stray-{number}" for number in range(4)]
    for key in keys:
        create(workers.port, key=key)
    ids = {create(workers.port, key="").headers["x-request-id"] for _ in range(4)}
    assert len(ids) == 4
    for key in keys:
        assert wait_until(
            lambda key=key: "without a key" in ask(workers.port, "GET", "/_harness/report", key=key).json["report"]
        )


def test_a_websocket_is_answered_by_the_worker_of_its_key(workers):
    for key in ("sk-ws-1", "sk-ws-2"):
        ask(workers.port, "POST", "/_harness/script", {"script": ["one", "two"]}, key)
        uri, headers = f"ws://127.0.0.1:{workers.port}/v1/responses", {"Authorization": f"Bearer {key}"}
        with connect(uri, additional_headers=headers) as wire:
            wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"}))
            while (event := json.loads(wire.recv(10)))["type"] != "response.completed":
                pass
        assert text_of(create(workers.port, key=key, previous_response_id=event["response"]["id"])) == "two"


def test_a_worker_that_is_killed_cuts_its_answers_and_is_started_again(closed_at_the_end):
    with serving("--workers", "2") as served:
        ask(served.port, "POST", "/_harness/script", HELD)
        create(served.port, key="sk-other")
        wire = closed_at_the_end(served.say(request("sk-team", STREAM)))
        assert b"200 OK" in read_until(wire, b"response.in_progress")
        before = children(served.child.pid)
        os.kill(before[0], signal.SIGKILL)
        assert b"response.completed" not in read_until(wire, b"response.completed")
        assert wait_until(lambda: len(set(children(served.child.pid)) - {before[0]}) == 2)
        assert create(served.port).status == 200
        assert "a worker ended" in ask(served.port, "GET", "/_harness/report").json["verdict"]
        assert ask(served.port, "GET", "/_harness/report", key="sk-other").json["verdict"] is None
        _, code, errors = served.end(signal.SIGTERM)
        assert code == 0
        assert "worker 1 has ended by signal 9 and is started again; what 1 of its keys had stored is lost." in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all(number):
    with serving("--workers", "3") as served:
        pids = children(served.child.pid)
        create(served.port)
        seconds, code, _ = served.end(number)
        assert (code, seconds < 20) == (0, True)
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


SLOW_START = """
import time
from harness.cluster.workers import worker
make = worker.Worker.__init__
def make_slowly(*args, **kwargs):
    time.sleep(1)
    make(*args, **kwargs)
worker.Worker.__init__ = make_slowly
"""


def test_a_signal_ends_workers_that_are_still_starting():
    with serving("--workers", "2", patch=SLOW_START) as served:
        _, code, errors = served.end(signal.SIGTERM)
    assert (code, errors) == (0, "")


def test_workers_end_with_their_first_process():
    with serving("--workers", "2") as served:
        pids = children(served.child.pid)
        served.child.kill()
        served.child.wait(10)
        assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 20)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--workers", "2", "--script", "bench/script.py"), "is bound to one process"),
        (("--workers", "2", "--", "true"), "--workers is only for servers without a COMMAND"),
        (("--workers", "2", "--log", "xml"), "--log xml: pass json"),
        (("--workers", "2", "--replay", "cassettes"), "--replay only plays recordings"),
        (("--workers", "0"), "greater than or equal to 1"),
        (("--workers", "-1"), "greater than or equal to 1"),
    ],
)
def test_what_workers_cannot_do_is_said_at_the_start(options, words):
    ended = run([sys.executable, "-m", "harness", "serve", "--port", "0", *options], cwd=ROOT)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in " ".join(ended.stderr.replace("│", " ").split())


def test_a_port_in_use_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run([sys.executable, "-m", "harness", "serve", "--port", port, "--workers", "2"], cwd=ROOT)
        assert (ended.returncode, "Choose another --port" in ended.stderr) == (2, True)


def counted(port: int) -> dict[str, float]:
    """Return the metrics of a server, those of all labels added up."""
    sums: dict[str, float] = {}
    for line in ask(port, "GET", "/_harness/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            name, _, value = (
                line.partition(" ") if "{" not in line else (line.partition("{")[0], "", line.rsplit(" ", 1)[1])
            )
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def test_metrics_are_those_of_all_workers():
    with serving("--workers", "2", "--metrics", "--log", "json") as served:
        for number in range(12):
            assert create(served.port, key=f"sk-{number % 6}").status == 200
        assert counted(served.port)["harness_requests_total"] == 12
        assert wait_until(lambda: counted(served.port)["harness_worlds"] == 6, 5)
        seen = counted(served.port)
        assert (seen["harness_build_info"], seen["harness_streams_open"]) == (1, 0)
        os.kill(children(served.child.pid)[1], signal.SIGKILL)
        assert wait_until(lambda: counted(served.port)["harness_worlds"] < 6, 5)
        assert counted(served.port)["harness_requests_total"] == 12
        assert create(served.port, key="sk-1").status == 200
        assert wait_until(lambda: counted(served.port)["harness_requests_total"] == 13, 5)
        _, _, said = served.end(signal.SIGTERM)
        assert said.count('"operation":"POST /responses"') == 13


def test_workers_that_end_as_soon_as_they_are_started_end_the_server():
    broken = (
        "import harness.cluster.workers.worker as worker\ndef fail(self): raise SystemExit(3)\nworker.Worker.run = fail"
    )
    program = f"{broken}\nimport sys; from harness.cli import main; sys.exit(main())"
    ended = run([sys.executable, "-c", program, "serve", "--port", "0", "--workers", "2"], cwd=ROOT)
    assert ended.returncode == 2
    lines = ended.stderr.splitlines()
    assert re.fullmatch(r"harness: --workers: worker [12] exits as soon as it is started, with \d\.", lines[-2]), lines
    assert lines[-1].startswith("manual: docs/troubleshooting.md#")
    assert "is started again" in ended.stderr


def test_each_worker_tells_what_its_worlds_did(workers):
    create(workers.port, key="sk-told")
    listed = ask(workers.port, "GET", "/_harness/worlds", key="sk-told").json
    with closing(http.client.HTTPConnection("127.0.0.1", workers.port, timeout=10)) as connection:
        path = f"/_harness/events?after={listed['event']}"
        connection.request("GET", path, headers={"Authorization": "Bearer sk-told"})
        answer = connection.getresponse()
        create(workers.port, key="sk-told")
        lines = [answer.readline() for _ in range(7)]
    exchange, edge = (json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))
    assert (exchange["kind"], exchange["number"], exchange["world"]) == ("exchange", 2, edge["world"])
    assert (edge["kind"], edge["number"], edge["whole"]) == ("edge", 2, True)
    assert edge["connection"] > 0
