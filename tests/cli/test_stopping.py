"""How `responses-harness serve` ends: whatever a client leaves half done, a signal ends it in seconds, a second at once."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.recording.recorder import open_recorder
from harness.cli import serve
from harness.server.transport.stoppable_server import STOP_SECONDS, StoppableServer
from tests.support.processes import spawn
from tests.support.servers.live_server import request_head
from tests.support.servers.served import ROOT, Served, read_until, serving
from tests.support.slow import slow_except

URL = "https://api.openai.com/v1/responses"
GATED = """
from harness.faults import pause
from harness.items import message
def script(request):
    return pause(message("Once upon a time"), after=3, until="never")
"""
BLOCKED = """
import time
def script(request):
    print("asked", flush=True)
    time.sleep(600)
"""
STREAM = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()
PLAIN = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + b"A" * 22
PATIENT = "import harness.server.transport.stoppable_server as made; made.STOP_SECONDS = 600"
"""A server that gives answers under way so long, that only a second signal ends it."""
IN_SECONDS = 10 * STOP_SECONDS
"""What a signal may take: the machine may be busy, and a server that waits for its clients never ends."""


@pytest.fixture
def gated(tmp_path: Path) -> str:
    (file := tmp_path / "gated.py").write_text(GATED)
    return str(file)


def paused_stream(served: Served) -> socket.socket:
    wire = served.say(request_head(STREAM) + STREAM)
    assert b"response.in_progress" in read_until(wire, b"response.output_item.added")
    return wire


def half_sent_body(served: Served) -> socket.socket:
    """Return a request that was taken, as its `100 Continue` says, and half of its body."""
    head = request_head(STREAM).replace(b"Connection: close", b"Expect: 100-continue")
    wire = served.say(head)
    assert b" 100 " in read_until(wire, b"\r\n\r\n")
    wire.sendall(STREAM[:-5])
    return wire


def open_websocket(served: Served) -> socket.socket:
    """Return a WebSocket over which nothing is read any more."""
    head = f"GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\n{UPGRADE.decode()}==\r\n\r\n"
    wire = served.say(head.encode())
    assert b" 101 " in read_until(wire, b"\r\n\r\n")
    return wire


CASES = pytest.mark.parametrize(
    ("leave", "line"),
    slow_except(
        (2, 3),
        [
            (paused_stream, "responses-harness: stopped; 1 request had no complete answer yet.\n"),
            (half_sent_body, "responses-harness: stopped; 1 request had no complete answer yet.\n"),
            (open_websocket, ""),
            (lambda served: served.say(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n"), ""),
            (lambda served: served.say(), ""),
        ],
    ),
    ids=["a paused stream", "half a body", "a WebSocket", "half a head", "nothing said"],
)


@pytest.mark.slow
@CASES
def test_a_signal_ends_it_in_seconds_although_a_client_left(leave, line: str, gated: str) -> None:
    with serving("--script", gated) as served, leave(served):
        seconds, code, errors = served.end(signal.SIGTERM)
    assert (code, errors) == (0, line)
    assert seconds < IN_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("leave", [paused_stream, half_sent_body])
def test_a_second_signal_ends_it_at_once(leave, second: int, gated: str) -> None:
    with serving("--script", gated, patch=PATIENT) as served, leave(served):
        _, code, errors = served.end(signal.SIGTERM, second)
    assert (code, errors) == (0, "responses-harness: stopped; 1 request had no complete answer yet.\n")


@pytest.mark.slow
def test_what_ends_by_itself_is_sent_whole(tmp_path: Path) -> None:
    (file := tmp_path / "slow.yaml").write_text("script: [[{message: Once upon a time}, {pause: {seconds: 0.1}}]]")
    with serving("--script", str(file)) as served:
        wire = served.say(request_head(STREAM) + STREAM)
        read_until(wire, b"response.created")
        _, code, errors = served.end(signal.SIGTERM)
        assert b"response.completed" in read_until(wire, b"response.completed")
        wire.close()
    assert (code, errors) == (0, "")


@pytest.mark.slow
def test_a_second_signal_ends_a_script_that_never_returns(tmp_path: Path) -> None:
    (file := tmp_path / "blocked.py").write_text(BLOCKED)
    with serving("--script", str(file)) as served, served.say(request_head(PLAIN) + PLAIN):
        assert served.child.stdout
        assert any(line == "asked\n" for line in served.child.stdout)
        begun = time.monotonic()
        served.child.send_signal(signal.SIGTERM)
        while served.child.poll() is None and time.monotonic() - begun < 20:
            served.child.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        assert served.child.stderr
        assert (served.child.poll(), "Traceback" in served.child.stderr.read()) == (1, False)


@pytest.mark.slow
@pytest.mark.parametrize("work", ["time.sleep(600)", "exec('while True: pass')", "re.match('(a+)+$', 'a' * 60 + 'b')"])
def test_one_signal_ends_a_server_that_is_busy(tmp_path: Path, work: str) -> None:
    """Busy waiting for the system, with Python, and inside a function that lets no other thread run."""
    (file := tmp_path / "busy.py").write_text(BLOCKED.replace("time.sleep(600)", work).replace("time\n", "re, time\n"))
    with serving("--script", str(file)) as served, served.say(request_head(PLAIN) + PLAIN):
        assert served.child.stdout
        assert any(line == "asked\n" for line in served.child.stdout)
        served.child.send_signal(signal.SIGTERM)
        assert served.child.wait(IN_SECONDS) == 1
        assert served.child.stderr
        assert "Traceback" not in served.child.stderr.read()


@pytest.mark.slow
def test_recordings_played_at_their_pace_end_as_well(tmp_path: Path) -> None:
    chunks = ((0.0, b"event: a\ndata: {}\n\n"), (600.0, b"event: b\ndata: {}\n\n"))
    recorded = Interaction("POST", URL, {}, STREAM, 200, {"content-type": "text/event-stream"}, chunks)
    with open_recorder(file := tmp_path / "slow.yaml", CassetteHeader()) as recorder:
        recorder.add(recorded)
    with serving("--replay", str(file), "--paced") as served:
        wire = served.say(request_head(STREAM) + STREAM)
        assert b"event: a" in read_until(wire, b"data: {}")
        seconds, code, errors = served.end(signal.SIGTERM)
        wire.close()
    assert (code, errors) == (0, "responses-harness: stopped; 1 request had no complete answer yet.\n")
    assert seconds < IN_SECONDS


@pytest.mark.slow
def test_a_command_with_the_mock_leaves_no_traceback(gated: str) -> None:
    """The command ends while a process that it has started still reads a stream."""
    asking = (
        "import json, os, urllib.request\n"
        "body = json.dumps({'model': 'gpt-4.1', 'input': 'hi', 'stream': True}).encode()\n"
        "headers = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY'], 'Content-Type': 'application/json'}\n"
        "request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/responses', body, headers)\n"
        "answer = urllib.request.urlopen(request); answer.readline(); os.set_inheritable(answer.fileno(), True)\n"
        "os.spawnv(os.P_NOWAIT, '/bin/sleep', ['sleep', '20']); os._exit(3)\n"
    )
    with serving_command(gated, asking) as child:
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 3
    assert "Traceback" not in errors


@contextmanager
def serving_command(script: str, program: str) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with spawn(
        [sys.executable, "-m", "harness", "serve", "--script", script, "--", sys.executable, "-c", program], env=env
    ) as child:
        yield child


def test_a_second_signal_is_given_a_last_resort_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a third one is, which would put it off."""
    waits = list[float]()
    monkeypatch.setattr(
        serve, "Timer", lambda seconds, *given: waits.append(seconds) or threading.Timer(seconds, *given)
    )
    server = StoppableServer(uvicorn.Config("none"))
    with serve._stopped_by_signals(server, None):
        for count in (1, 2, 2):
            signal.raise_signal(signal.SIGTERM)
            assert (len(waits), server.force_exit) == (count, count > 1)
    assert waits == [STOP_SECONDS + serve.LAST_RESORT_SECONDS, serve.LAST_RESORT_SECONDS]
